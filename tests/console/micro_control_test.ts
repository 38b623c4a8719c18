/** Using a machine-micro-server from the browser: it has no WebRTC, and its cloud answers for it. */
import { join } from "node:path";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { startMicro } from "../e2e/micro_machine.ts";
import { ConsoleRig } from "./console_rig.ts";
import { cardsOf, useResources } from "./resource_cards.ts";
import { keepNotes } from "./shown_notes.ts";

const KINDS = [
  ...["base", "board", "encoder", "generic", "motor", "movement_sensor", "power_sensor"],
  ...["sensor", "servo", "switch"],
];

const ignore = ignoreWithout(import.meta.url, "chromium");
Deno.test({
  name: "the resources of a machine-micro-server are used from the browser, through the cloud",
  ignore,
  async fn() {
    await using rig = await ConsoleRig.open();
    const { app, made, cloud, dataDir } = rig;
    const components = KINDS.map((kind) => ({
      ...{ name: `${kind}-1`, api: `rdk:component:${kind}`, model: "rdk:builtin:fake" },
    }));
    const { part } = await app.getRobotPart({ id: made.part_id });
    await app.updateRobotPart({
      ...{ id: made.part_id, name: part?.name ?? "" },
      robotConfigJson: JSON.stringify({ components }),
    });
    const credentialsFile = join(dataDir, "machine.json");
    const { part_id: id, part_secret: secret } = made;
    await Deno.writeTextFile(
      credentialsFile,
      JSON.stringify({ cloud: { id, secret, app_address: cloud.url } }),
    );
    using micro = await startMicro({ dir: dataDir, credentialsFile });
    await micro.waitForLine("applied revision");

    const opened = await rig.signedIn(`/machines/${made.machine_id}/control`);
    const { page } = opened;
    await keepNotes(page);
    await page.getByText("Connected through the cloud").waitFor();
    for (const kind of KINDS) await cardsOf(page)(kind).waitFor();

    await useResources(page);

    await page.getByRole("button", { name: "Stop all" }).click();
    await page.getByText("A stop was requested of all resources.").waitFor();
    await page.evaluate("scrollTo(0, 0)");
    await opened.inspect("micro-control");
  },
});
