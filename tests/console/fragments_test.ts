import assert from "node:assert/strict";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { consoleTest } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";
import { WAIT } from "./machine_rig.ts";

consoleTest(
  import.meta.url,
  "a fragment is written, tagged, given to machines, restored, and merged with another's change",
  async (rig) => {
    const { app, made } = rig;
    const organizationId = made.org_id;
    for (const text of HOSTILE) {
      const name = text.replaceAll(/\p{C}/gu, "").slice(0, 90);
      await app.createFragment({ organizationId, name, config: {} });
    }
    const opened = await rig.signedIn("/organization?tab=fragments");
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const press = (name: string) => page.getByRole("button", { name, exact: true }).click();
    const confirm = (name: string) =>
      dialog.getByRole("button", { name, exact: true }).filter({ visible: true }).click();
    await page.getByRole("list", { name: "All fragments" }).waitFor();
    await opened.inspect("fragments");

    await press("New fragment");
    await dialog.getByLabel("Name").fill("weather");
    await confirm("Create");
    const editor = page.getByLabel("Configuration of the fragment as JSON");
    await editor.waitFor();
    const id = new URL(page.url()).searchParams.get("fragment") ?? "";
    const configOf = async () => (await app.getFragment({ id })).fragment?.fragmentConfigJson ?? "";
    const write = async (config: unknown) => {
      await editor.focus();
      await page.keyboard.press("ControlOrMeta+a");
      await page.keyboard.press("Delete");
      await page.keyboard.insertText(JSON.stringify(config, null, 2));
      await press("Review and save");
      await confirm("Save");
    };
    const sensor = (url: unknown) => ({
      components: [{
        ...{ name: "weather", api: "rdk:component:sensor", model: "rdk:builtin:http" },
        attributes: { url },
      }],
    });
    await write(sensor({ $variable: { name: "url" } }));
    await page.getByText("Saved as revision 2.").waitFor();
    assert.match(await configOf(), /\$variable/);
    // What a variable will be is not known: nothing is marked in it.
    assert.equal(await page.locator(".cm-lintRange").count(), 0);
    await write(sensor("http://first"));
    await page.getByText("Saved as revision 3.").waitFor();

    const versions = page.getByRole("table").filter({ hasText: "Revision" });
    await versions.getByRole("button", { name: /^3\b/ }).click();
    await press("Tag");
    await dialog.getByLabel("Tag", { exact: true }).fill("stable");
    await confirm("Tag");
    await versions.getByText("stable").waitFor();

    await press("Add to machines");
    await dialog.getByLabel("Version").selectOption({ label: "What stable names" });
    await dialog.getByLabel("rover").check();
    await confirm("Add to machines");
    await page.getByText("Added to 1 machine.").waitFor();
    await page.getByRole("link", { name: "rover" }).waitFor();
    const { part } = await app.getRobotPart({ id: made.part_id });
    assert.deepEqual(part?.robotConfig?.["fragments"], [{ id, version: "stable" }]);

    // Somebody else adds a camera, while an address is changed here.
    const { fragment } = await app.getFragment({ id });
    const [first] = sensor("http://first").components;
    const camera = { name: "eye", api: "rdk:component:camera", model: "rdk:builtin:fake" };
    await app.updateFragment({
      ...{ id, name: "", fragmentConfigJson: JSON.stringify({ components: [first, camera] }) },
      ...(fragment?.lastUpdated ? { lastKnownUpdate: fragment.lastUpdated } : {}),
    });
    await write(sensor("http://mine"));
    await dialog.getByText("Somebody saved meanwhile").waitFor();
    opened.complaints.splice(0);
    await confirm("Put mine on top");
    await confirm("Save");
    await page.getByText("Saved as revision 5.").waitFor();
    const merged = await configOf();
    assert.ok(merged.includes("eye") && merged.includes("http://mine"), merged);

    await versions.getByRole("button", { name: /^2\b/ }).click();
    const compared = page.getByRole("region", { name: "Compare with now" });
    await compared.getByText("components.eye").waitFor();
    await opened.inspect("fragment");
    await compared.getByRole("button", { name: "Restore" }).click();
    await confirm("Restore");
    await page.getByText("Revision 2 is saved again.").waitFor();
    await waitFor(async () => (await configOf()).includes("$variable"), WAIT);

    await press("Delete");
    await dialog.getByLabel("Type “weather” to confirm").fill("weather");
    await confirm("Delete");
    await dialog.getByText("is in use by").waitFor();
    opened.complaints.splice(0);
    await app.updateRobotPart({ id: made.part_id, robotConfigJson: "{}" });
    await confirm("Delete");
    await page.getByRole("list", { name: "All fragments" }).waitFor();
    await assert.rejects(app.getFragment({ id }));
  },
);
