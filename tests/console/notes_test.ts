/** Notes at the edge of the page: how long they stay, and what of them stays reachable. */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import { consoleTest } from "./console_rig.ts";
import { keepNotes } from "./shown_notes.ts";

const MINUTE_MS = 60_000;

/** Tags the only machine, which leaves a note with Undo. */
async function tag(page: Page, name: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  await page.getByLabel("Select rover").check();
  await page.getByRole("button", { name: "Tag", exact: true }).click();
  await dialog.getByLabel("Tags to add").fill(name);
  await dialog.getByRole("button", { name: "Do it" }).click();
  await page.getByText("Done for 1 machine.").waitFor();
}

consoleTest(
  import.meta.url,
  "a note stays while somebody is at it, and its undo can be found afterwards",
  async (rig) => {
    const { app, made } = rig;
    const tags = async () => (await app.getRobotMetadata({ id: made.machine_id })).data?.["tags"];
    const opened = await rig.signedIn("/");
    const { page } = opened;
    await page.getByLabel("Select rover").waitFor();
    await page.clock.install();
    await tag(page, "north");
    const note = page.getByText("Done for 1 machine.");
    const undo = page.getByRole("button", { name: "Undo" });
    await undo.hover();
    await page.clock.runFor(MINUTE_MS);
    assert.ok(await note.isVisible(), "the pointer is at it");
    await undo.focus();
    await page.mouse.move(5, 5);
    await page.clock.runFor(MINUTE_MS);
    assert.ok(await note.isVisible(), "it has the focus");
    await page.getByRole("heading", { level: 1 }).click();
    await page.evaluate("document.activeElement?.blur()");
    await page.clock.runFor(MINUTE_MS);
    await note.waitFor({ state: "detached" });

    assert.deepEqual(await tags(), ["north"]);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("undo");
    await page.getByRole("option", { name: "Undo: Done for 1 machine." }).waitFor();
    await opened.picture("palette-undo");
    await page.keyboard.press("Enter");
    await page.getByText("Undone for 1 machine.").waitFor();
    assert.deepEqual(await tags() ?? [], []);
    await page.keyboard.press("Control+k");
    await page.keyboard.type("undo");
    await page.getByText("Nothing fits “undo”.").waitFor();
  },
);

consoleTest(
  import.meta.url,
  "a note waits while nobody sees the page",
  async (rig) => {
    const opened = await rig.signedIn("/");
    const { page } = opened;
    await page.getByLabel("Select rover").waitFor();
    await page.clock.install();
    await tag(page, "north");
    const see = (isSeen: boolean) =>
      page.evaluate(`
        Object.defineProperty(document, "hidden", { value: ${!isSeen}, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      `);
    await see(false);
    await page.clock.runFor(MINUTE_MS);
    const note = page.getByText("Done for 1 machine.");
    assert.ok(await note.isVisible());
    await see(true);
    await page.clock.runFor(MINUTE_MS);
    await note.waitFor({ state: "detached" });
  },
);

consoleTest(
  import.meta.url,
  "a save can be undone from another page, unless somebody saved since",
  async (rig) => {
    const { app, made } = rig;
    const id = made.part_id;
    const config = (url: string) => ({
      components: [{
        ...{ name: "weather", api: "rdk:component:sensor", model: "rdk:builtin:http" },
        attributes: { url },
      }],
    });
    const save = (url: string) =>
      app.updateRobotPart({ id, robotConfigJson: JSON.stringify(config(url)) });
    const saved = async () => (await app.getRobotPart({ id })).part?.robotConfigJson ?? "";
    await save("http://first");
    const opened = await rig.signedIn("/");
    const { page } = opened;
    const change = async (url: string) => {
      await page.getByRole("link", { name: "rover", exact: true }).click();
      await page.getByRole("link", { name: "Configure" }).click();
      await page.getByText("weather").first().click();
      await page.getByLabel("url").fill(url);
      await page.getByRole("button", { name: "Review and save" }).click();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Saved. No changes.").waitFor();
      await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Fleet" })
        .click();
      await page.getByLabel("Select rover").waitFor();
    };
    const undo = async () => {
      await page.keyboard.press("Control+k");
      await page.keyboard.type("undo configuration");
      await page.getByRole("option", { name: "Undo: configuration of rover" }).waitFor();
      await page.keyboard.press("Enter");
    };
    await change("http://second");
    await undo();
    await page.getByText("The change is undone.").waitFor();
    assert.match(await saved(), /first/);

    await change("http://third");
    await save("http://of-another");
    await undo();
    await page.getByText(/Somebody saved at/).first().waitFor();
    assert.match(await saved(), /of-another/);
    opened.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a restored revision is not undone over what somebody saved at the same moment",
  async (rig) => {
    const { app, made } = rig;
    const id = made.part_id;
    const save = (name: string) =>
      app.updateRobotPart({
        id,
        robotConfigJson: JSON.stringify({
          components: [{ name, api: "rdk:component:sensor", model: "rdk:builtin:fake" }],
        }),
      });
    const saved = async () => (await app.getRobotPart({ id })).part?.robotConfigJson ?? "";
    for (const name of ["first", "second"]) await save(name);
    const opened = await rig.signedIn(`/machines/${made.machine_id}/configure?view=history`);
    const { page } = opened;
    await page.route("**/RestoreRevision", async (route) => {
      const response = await route.fetch();
      await save("of-another");
      await route.fulfill({ response });
    });
    await page.getByRole("button", { name: /^2\b.*Compare/ }).click();
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await page.getByText("Revision 2 is restored.").waitFor();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText(/Somebody saved at|The change is undone/).first().waitFor();
    assert.match(await saved(), /of-another/);
    opened.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a revision is not restored over what was saved after it was compared, and is compared again",
  async (rig) => {
    const { app, made } = rig;
    const id = made.part_id;
    const save = (name: string) =>
      app.updateRobotPart({
        id,
        robotConfigJson: JSON.stringify({
          components: [{ name, api: "rdk:component:sensor", model: "rdk:builtin:fake" }],
        }),
      });
    const saved = async () => (await app.getRobotPart({ id })).part?.robotConfigJson ?? "";
    for (const name of ["first", "second"]) await save(name);
    const opened = await rig.signedIn(`/machines/${made.machine_id}/configure?view=history`);
    const { page } = opened;
    await keepNotes(page);
    const comparison = page.getByRole("region", { name: "Compare with now" });
    await page.getByRole("button", { name: /^2\b.*Compare/ }).click();
    await comparison.getByText("components.second").waitFor();
    await save("of-another");
    await comparison.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await comparison.getByText(/Somebody saved at/).waitFor();
    await comparison.getByText("components.of-another").waitFor();
    assert.match(await saved(), /of-another/);
    await comparison.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
    await page.getByText("Revision 2 is restored.").waitFor();
    assert.match(await saved(), /first/);
    opened.complaints.splice(0);
  },
);
