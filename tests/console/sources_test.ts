/** Where each value of a machine's configuration comes from. */
import { consoleTest } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";

consoleTest(
  import.meta.url,
  "values of a fragment with hostile texts are shown with their source, on a phone too",
  async (rig) => {
    const { app, made } = rig;
    const texts = HOSTILE.map((text) => text.replaceAll(/\p{Cc}/gu, ""));
    const { fragment } = await app.createFragment({
      organizationId: made.org_id,
      name: `${texts[2]} ${texts[0]}`,
      config: {
        components: [{
          ...{ name: "weather", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
          attributes: { readings: Object.fromEntries(texts.map((text) => [text, text])) },
        }],
      },
    });
    await app.updateRobotPart({
      id: made.part_id,
      robotConfigJson: JSON.stringify({ fragments: [fragment?.id] }),
    });
    const opened = await rig.signedIn(`/machines/${made.machine_id}/configure?view=sources`);
    const { page } = opened;
    await page.getByText("components[0].name").waitFor();
    await opened.inspect("configure-sources-hostile");
  },
);
