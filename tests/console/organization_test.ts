/** Members, keys, locations and the audit log, in a browser. */
import assert from "node:assert/strict";
import { addOwner } from "../../cloud/local/people/people_command.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { HOSTILE } from "./hostile_texts.ts";
import { ConsoleRig } from "./console_rig.ts";
import { keepNotes } from "./shown_notes.ts";

const ignore = ignoreWithout(import.meta.url, "chromium");

Deno.test({
  name: "an owner keeps members, keys and locations, and reads what was done",
  ignore,
  async fn() {
    await using rig = await ConsoleRig.open();
    const { app, made } = rig;
    const folder = await openDataFolder(rig.dataDir, systemRandom);
    try {
      await addOwner(folder.database.queries, { email: "ann@example.com", orgId: made.org_id }, {
        ...{ clock: systemClock, random: systemRandom },
      });
    } finally {
      folder.database.close();
    }
    const names = HOSTILE.map((text) => text.replaceAll(/\p{C}/gu, "").slice(0, 90));
    for (const name of names) await app.createLocation({ organizationId: made.org_id, name });
    const opened = await rig.signedIn("/");
    await keepNotes(opened.page);
    const { page } = opened;
    const dialog = page.getByRole("dialog");
    const press = (name: string) => dialog.getByRole("button", { name, exact: true }).click();
    const tab = (name: string) =>
      page.getByRole("navigation", { name: "Parts of" }).getByRole("link", { name }).click();

    await page.getByRole("link", { name: "Organisation" }).click();
    const members = page.getByRole("list", { name: "Members" });
    await members.getByText("ann@example.com").waitFor();
    await members.getByText("Owner of the organisation").waitFor();
    await page.getByRole("button", { name: "Invite", exact: true }).click();
    await page.getByLabel("E-mail address").fill("bob@example.com");
    await opened.inspect("organization-invite");
    await press("Invite");
    const pending = page.getByRole("list", { name: "Pending invitations" });
    await pending.getByText("Operator of the organisation").waitFor();
    await pending.getByText("machine-cloud invitation link bob@example.com").waitFor();
    await opened.inspect("organization-members");
    await pending.getByRole("button", { name: "Withdraw" }).click();
    await press("Withdraw");
    await pending.waitFor({ state: "detached" });
    await members.getByRole("button", { name: "Change role" }).click();
    await dialog.getByLabel("Role").selectOption("operator");
    await press("Change role");
    await members.getByText("Operator of the organisation").waitFor();
    const matrix = page.getByRole("region", { name: "Roles" });
    const inLab = matrix.getByLabel("ann@example.com, Lab", { exact: true });
    await inLab.getByText("(Operator)").waitFor({ state: "attached" });
    await inLab.selectOption("owner");
    await members.getByText("Owner of location Lab").waitFor();
    await opened.inspect("organization-roles");
    await page.getByRole("button", { name: "Undo" }).click();
    await members.getByText("Owner of location Lab").waitFor({ state: "detached" });
    // A machine that is made while the page is open is named.
    const person = (await app.listOrganizationMembers({ organizationId: made.org_id })).members[0];
    const digger = await app.newRobot({ name: "digger", location: made.location_id });
    const onDigger = {
      ...{ authorizationType: "role", authorizationId: "robot_owner", resourceType: "robot" },
      ...{ resourceId: digger.id, organizationId: made.org_id },
      ...{ identityId: person?.userId ?? "", identityType: "user" },
    };
    await page.reload();
    await app.addRole({ authorization: onDigger });
    await members.getByText("Operator of the organisation").waitFor();
    await inLab.selectOption("owner");
    await members.getByText("Owner of machine digger").waitFor();
    await app.updateRobot({ id: digger.id, name: "crane", location: made.location_id });
    await members.getByText("Owner of machine crane").waitFor();
    await app.deleteRobot({ id: digger.id });
    await members.getByRole("button", { name: "Remove" }).click();
    await press("Remove");
    await page.getByText("No people yet").waitFor();

    await tab("API keys");
    await page.waitForURL(/\/organization\?tab=keys$/);
    const keys = page.getByRole("list", { name: "API keys" });
    await keys.getByText("you are signed in with it").waitFor();
    await page.getByRole("button", { name: "New key" }).click();
    await dialog.getByLabel("Name").fill(names[0] ?? "");
    await dialog.getByLabel("For").selectOption(`location ${made.location_id}`);
    await press("Create");
    await dialog.getByText("it is not shown again").waitFor();
    const shown = async () => {
      const texts = await dialog.locator(".mono").allInnerTexts();
      return { id: texts[0] ?? "", key: texts[1] ?? "" };
    };
    const first = await shown();
    await opened.inspect("organization-key-made");
    await press("Done");
    const scoped = await rig.as("api-key", first.id, first.key, AppService);
    await scoped.getLocation({ locationId: made.location_id });
    await keys.getByText("Operator of location Lab").waitFor();
    await keys.getByRole("button", { name: `Rename: ${names[0]}` }).click();
    await dialog.getByLabel("Name").fill("dashboards");
    await press("Rename");
    await keys.getByText("dashboards", { exact: true }).waitFor();
    await keys.getByRole("button", { name: "Rotate: dashboards" }).click();
    await press("Rotate");
    await dialog.getByText("it is not shown again").waitFor();
    assert.notEqual((await shown()).key, first.key);
    await press("Done");
    await assert.rejects(rig.as("api-key", first.id, first.key, AppService));
    await opened.inspect("organization-keys");
    await keys.getByRole("button", { name: "Delete: dashboards" }).click();
    await press("Delete");
    await keys.getByText("dashboards", { exact: true }).waitFor({ state: "detached" });

    await tab("Locations");
    const locations = page.getByRole("list", { name: "Locations" });
    await page.getByRole("button", { name: "New location" }).click();
    await dialog.getByLabel("Name").fill("Shelf");
    await dialog.getByLabel("Within").selectOption({ label: "Lab" });
    await press("Create");
    await locations.getByRole("button", { name: "Rename: Shelf" }).click();
    await dialog.getByLabel("Name").fill("Rack");
    await press("Rename");
    await locations.getByText("Rack", { exact: true }).waitFor();
    await opened.inspect("organization-locations");
    const parentOfRack = async () =>
      (await app.listLocations({ organizationId: made.org_id })).locations
        .find(({ name }) => name === "Rack")?.parentLocationId;
    const moved = (place: string) => page.getByText(`Rack is now ${place}.`).last().waitFor();
    await locations.getByRole("button", { name: "Move to… Rack" }).click();
    await dialog.getByLabel("Within").selectOption({ label: "Nothing (top level)" });
    await opened.inspect("organization-move");
    await press("Move");
    await moved("at the top level");
    assert.equal(await parentOfRack(), "");
    const item = (name: string) => locations.getByRole("listitem").filter({ hasText: name });
    await item("Rack").dragTo(item("Lab"));
    await moved("in Lab");
    assert.equal(await parentOfRack(), made.location_id);
    await page.getByRole("button", { name: "Undo" }).last().click();
    await waitFor(async () => await parentOfRack() === "", { deadlineMs: 60_000 });
    // Nobody's later move is undone from the palette.
    await page.keyboard.press("Control+k");
    await page.keyboard.type("undo");
    await page.getByText("Nothing fits “undo”.").waitFor();
    await page.keyboard.press("Escape");
    await locations.getByRole("button", { name: "Move to… Lab" }).click();
    assert.equal(await dialog.getByRole("option", { name: "Lab" }).count(), 0);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await item("Rack").dragTo(item("Lab"));
    await moved("in Lab");
    await locations.getByRole("button", { name: "Delete: Lab" }).click();
    await dialog.getByLabel("Type “Lab”").fill("Lab");
    await press("Delete");
    await dialog.getByRole("alert").waitFor();
    opened.complaints.splice(0);
    await press("Cancel");
    await locations.getByRole("button", { name: "Delete: Rack" }).click();
    await dialog.getByLabel("Type “Rack”").fill("Rack");
    await press("Delete");
    await locations.getByText("Rack", { exact: true }).waitFor({ state: "detached" });

    await tab("Notifications");
    await page.getByText("This cloud sends no mail.").waitFor();
    await page.getByText("They may lead into private networks").waitFor();
    await page.getByRole("button", { name: "Change addresses" }).click();
    await dialog.getByLabel("E-mail addresses").fill("ann@example.com, nobody");
    await press("Save");
    await dialog.getByText("nobody").waitFor();
    opened.complaints.splice(0);
    await dialog.getByLabel("E-mail addresses").fill("ann@example.com, bob@example.com");
    await press("Save");
    const owners = page.getByRole("list", { name: "Owners of all machines" });
    await owners.getByText("bob@example.com").waitFor();
    await opened.inspect("organization-notifications");

    await tab("Use");
    await page.getByText("The cloud sends no mail").waitFor();
    await page.getByText("0 B, no limit").waitFor();
    await page.getByRole("button", { name: "Change limits" }).click();
    await dialog.getByLabel("Most stored, GB").fill("1.5");
    await dialog.getByLabel("Days kept").fill("30");
    await press("Save");
    await page.getByText("0 B of 1.50 GB").waitFor();
    await page.getByText("for 30 days").waitFor();
    await opened.inspect("organization-use");

    await tab("Audit log");
    const entries = page.getByRole("list", { name: "Audit log" });
    await entries.getByText("viam.app.v1.AppService/DeleteLocation").first().waitFor();
    await page.getByLabel("What: begins with").fill("viam.app.v1.AppService/RotateKey");
    await page.getByRole("button", { name: "Filter" }).click();
    await entries.getByText("DeleteLocation").waitFor({ state: "detached" });
    assert.equal(await entries.getByRole("listitem").count(), 1);
    await page.waitForURL(/what=viam/);
    await opened.inspect("organization-audit");
    assert.equal(await page.evaluate("window.hacked ?? 'no'"), "no");
  },
});
