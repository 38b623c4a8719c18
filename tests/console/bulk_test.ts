/** Many machines at once, and the settings of one, in a browser. */
import assert from "node:assert/strict";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { consoleTest } from "./console_rig.ts";

consoleTest(
  import.meta.url,
  "machines are tagged and moved together, with a preview of whom it touches",
  async (rig) => {
    const { app, made } = rig;
    await app.newRobot({ name: "picker", location: made.location_id });
    const { location } = await app.createLocation({ organizationId: made.org_id, name: "Field" });
    const opened = await rig.signedIn("/");
    const { page } = opened;
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
    assert.equal((await app.getRobot({ id: made.machine_id })).robot?.location, location?.id);
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
