/** Many machines at once, and the settings of one, in a browser. */
import assert from "node:assert/strict";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { consoleTest } from "./console_rig.ts";
import { keepNotes } from "./shown_notes.ts";

consoleTest(
  import.meta.url,
  "machines are tagged, moved and restarted together, with a preview of whom it touches",
  async (rig) => {
    const { app, made } = rig;
    const { id: picker } = await app.newRobot({ name: "picker", location: made.location_id });
    const { location } = await app.createLocation({ organizationId: made.org_id, name: "Field" });
    const opened = await rig.signedIn("/");
    const { page } = opened;
    await keepNotes(page);
    await page.getByLabel("Select all 2 that are shown").check();
    await page.getByText("2 selected").waitFor();
    await opened.inspect("fleet-selected");
    await page.getByRole("button", { name: "Tag", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("picker").waitFor();
    await dialog.getByLabel("Tags to add").fill("harvest, north");
    await opened.inspect("fleet-bulk-tag");
    await dialog.getByRole("button", { name: "Do it" }).click();
    await page.getByText("Done for 2 machines.").waitFor();
    const { data } = await app.getRobotMetadata({ id: made.machine_id });
    assert.deepEqual(data, { tags: ["harvest", "north"] });
    await page.getByRole("row").filter({ hasText: "rover" }).getByText("harvest").waitFor();

    await page.getByLabel("Select rover").check();
    await page.getByRole("button", { name: "Move" }).click();
    await dialog.getByLabel("To the location").selectOption(location?.id ?? "");
    await dialog.getByRole("button", { name: "Do it" }).click();
    await page.getByText("Done for 1 machine.").waitFor();
    const locationOf = async () => (await app.getRobot({ id: made.machine_id })).robot?.location;
    assert.equal(await locationOf(), location?.id);

    // What is there already is not moved; what was moved goes back.
    await page.getByRole("button", { name: "Undo" }).last().click();
    await page.getByText("Undone for 1 machine.").waitFor();
    assert.equal(await locationOf(), made.location_id);
    await page.getByLabel("Select all 2 that are shown").check();
    await page.getByRole("button", { name: "Move" }).click();
    await dialog.getByLabel("To the location").selectOption(made.location_id);
    await dialog.getByText("It touches no machine.").waitFor();
    await dialog.getByText("Left out, as they are there already: 2").waitFor();
    assert.equal(await dialog.getByRole("button", { name: "Do it" }).isDisabled(), true);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Tag", exact: true }).click();
    await dialog.getByLabel("Tags to add").fill("south");
    await dialog.getByLabel("Tags to remove").fill("north");
    await dialog.getByRole("button", { name: "Do it" }).click();
    const tagsOf = async () => (await app.getRobotMetadata({ id: made.machine_id })).data?.["tags"];
    await page.getByText("south").first().waitFor();
    await page.getByText("Done for 2 machines.").nth(1).waitFor();
    assert.deepEqual(await tagsOf(), ["harvest", "south"]);
    await page.getByRole("button", { name: "Undo" }).last().click();
    await page.getByText("Undone for 2 machines.").waitFor();
    assert.deepEqual(await tagsOf(), ["harvest", "north"]);

    // The server of a machine learns that it must restart, and that of the others does not.
    const { parts: [pickers] } = await app.getRobotParts({ robotId: picker });
    const mustRestart = async ({ id = "", secret = "" }) =>
      (await (await rig.as("robot-secret", id, secret, RobotService)).needsRestart({ id }))
        .mustRestart;
    await page.getByLabel("Select rover").check();
    await page.getByRole("button", { name: "Restart" }).click();
    await dialog.getByText("rover").first().waitFor();
    await dialog.getByRole("button", { name: "Do it" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.equal(await mustRestart({ id: made.part_id, secret: made.part_secret }), true);
    assert.equal(await mustRestart({ ...pickers }), false);
  },
);

consoleTest(
  import.meta.url,
  "an undo is of its own work, leaves what others moved meanwhile, and can be tried again",
  async (rig) => {
    const { app, made } = rig;
    const { id: picker } = await app.newRobot({ name: "picker", location: made.location_id });
    const newLocation = async (name: string) =>
      (await app.createLocation({ organizationId: made.org_id, name })).location?.id ?? "";
    const [field, barn] = [await newLocation("Field"), await newLocation("Barn")];
    const locationsOf = () =>
      Promise.all(
        [made.machine_id, picker].map(async (id) => (await app.getRobot({ id })).robot?.location),
      );
    const { page } = await rig.signedIn("/");
    await keepNotes(page);
    const dialog = page.getByRole("dialog");
    const answers: (() => Promise<void>)[] = [];
    let moves = 0;
    await page.route("**/UpdateRobot", async (route) => {
      if (moves++ === 0) await route.continue();
      else answers.push(() => route.continue());
    });
    await page.getByLabel("Select all 2 that are shown").check();
    await page.getByRole("button", { name: "Move" }).click();
    await dialog.getByLabel("To the location").selectOption(field);
    await dialog.getByRole("button", { name: "Do it" }).click();
    // The page behind has the one that was moved at its place; the dialog counts on.
    await page.locator("a").filter({ hasText: /^\s*Field\s*1\s*$/ }).waitFor();
    await dialog.getByText("1 of 2 done").waitFor();
    await waitFor(() => Promise.resolve(answers.length === 1), { deadlineMs: 60_000 });
    for (const answer of answers) await answer();
    await page.unroute("**/UpdateRobot");
    await page.getByText("Done for 2 machines.").waitFor();
    assert.deepEqual(await locationsOf(), [field, field]);

    await app.updateRobot({ id: made.machine_id, location: barn });
    await page.getByLabel("Select picker").check();
    await page.getByRole("button", { name: "Move" }).click();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Undo" }).click();
    await page.locator("#main:focus").waitFor();
    await page.getByText("Undone for 1, not for rover: it was moved elsewhere meanwhile.")
      .waitFor();
    assert.deepEqual(await locationsOf(), [barn, made.location_id]);
    await app.updateRobot({ id: made.machine_id, location: field });
    await page.getByRole("button", { name: "Try these again" }).click();
    await page.getByText("Undone for 1 machine.").waitFor();
    assert.deepEqual(await locationsOf(), [made.location_id, made.location_id]);
  },
);

consoleTest(
  import.meta.url,
  "work on many machines that is left stops, and says how far it came, in the viewer's language",
  async (rig) => {
    const { app, made } = rig;
    const names = Array.from({ length: 9 }, (_, at) => `m-${at}`);
    for (const name of names) await app.newRobot({ name, location: made.location_id });
    const opened = await rig.signedIn("/", { locale: "de-DE" });
    const { page } = opened;
    await keepNotes(page);
    // Four are under way, and no answer comes.
    let held = 0;
    const answers: (() => Promise<void>)[] = [];
    await page.route("**/MarkPartForRestart", (route) => {
      held++;
      answers.push(() => route.continue());
    });
    await page.getByLabel("Alle 10 angezeigten auswählen").check();
    await page.getByRole("button", { name: "Neu starten" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Ausführen" }).click();
    await waitFor(() => Promise.resolve(held === 4), { deadlineMs: 60_000 });
    await dialog.getByRole("button", { name: "Anhalten" }).click();
    for (const answer of answers) await answer();
    await page.getByText("Angehalten: für 4 von 10 erledigt").waitFor();
    assert.equal(held, 4);
    await page.unroute("**/MarkPartForRestart");

    // Somebody took the new name for another machine's place: the reason is no English.
    const { location } = await app.createLocation({ organizationId: made.org_id, name: "Feld" });
    await app.newRobot({ name: "m-0", location: location?.id ?? "" });
    await page.getByLabel("m-0 auswählen").first().check();
    await page.getByRole("button", { name: "Verschieben" }).click();
    await dialog.getByLabel("An den Standort").selectOption(location?.id ?? "");
    await dialog.getByRole("button", { name: "Ausführen" }).click();
    await dialog.getByText("„m-0“ heißt hier schon etwas anderes.").first().waitFor();
    await dialog.getByRole("button", { name: "Abbrechen" }).click();
    await page.getByText(/^Für \d+ von 10 erledigt, 1 fehlgeschlagen\.$/).waitFor();
    opened.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a fragment is added where it is not yet, and the note counts those alone",
  async (rig) => {
    const { app, made } = rig;
    const { id: robotId } = await app.newRobot({ name: "picker", location: made.location_id });
    await app.newRobot({ name: "digger", location: made.location_id });
    const { fragment } = await app.createFragment({
      ...{ name: "lights", config: {}, organizationId: made.org_id },
    });
    const robotConfigJson = JSON.stringify({ fragments: [{ id: fragment?.id }] });
    await app.updateRobotPart({ id: made.part_id, robotConfigJson });
    const { page } = await rig.signedIn("/");
    await keepNotes(page);
    await page.getByLabel("Select all 3 that are shown").check();
    await page.getByRole("button", { name: "Add fragment" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Left out, as it is there already: 1").waitFor();
    await dialog.getByText("picker").waitFor();
    assert.equal(await dialog.getByText("rover").count(), 0);
    // Somebody adds it between the preview and the work.
    const { parts: [picker] } = await app.getRobotParts({ robotId });
    await app.updateRobotPart({ id: picker?.id ?? "", robotConfigJson });
    await dialog.getByRole("button", { name: "Do it" }).click();
    await page.getByText("Done for 1 machine; 1 had it already.").waitFor();
    await page.getByLabel("Select all 3 that are shown").check();
    await page.getByRole("button", { name: "Add fragment" }).click();
    await dialog.getByText("It touches no machine.").waitFor();
    await dialog.getByText("Left out, as they are there already: 3").waitFor();
  },
);

consoleTest(
  import.meta.url,
  "a machine is renamed, restarted and, with its name typed, deleted",
  async (rig) => {
    const { app, made } = rig;
    const opened = await rig.signedIn(`/machines/${made.machine_id}/settings`);
    const { page } = opened;
    await page.getByLabel("Tags").fill("a, b");
    await opened.inspect("machine-settings");
    await page.getByLabel("Name").fill("digger");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Saved.").waitFor();
    await page.getByRole("heading", { name: "digger" }).waitFor();
    await page.getByRole("button", { name: "Restart server" }).click();
    await page.getByText("as soon as it is reached").waitFor();
    await page.getByRole("button", { name: "Delete machine" }).click();
    const dialog = page.getByRole("dialog");
    const button = dialog.getByRole("button", { name: "Delete machine" });
    assert.equal(await button.isDisabled(), true);
    await opened.inspect("machine-delete");
    await dialog.getByLabel(/Type “digger”/).fill("digger");
    await button.click();
    await page.getByText("No machines yet").waitFor();
    await waitFor(
      async () => (await app.listRobots({ locationId: made.location_id })).robots.length === 0,
      {
        deadlineMs: 60_000,
      },
    );
    // Requests of the page that were under way while its machine was deleted.
    const isLate = /\b404\b.*\/(GetPartLiveStatus|GetRobot|GetRobotParts)$/;
    const others = opened.complaints.filter((each) => !isLate.test(each));
    opened.complaints.splice(0, Infinity, ...others);
  },
);
