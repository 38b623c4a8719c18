/** What goes wrong while a page is open: it says so, keeps what it has, and comes back. */
import assert from "node:assert/strict";
import process from "node:process";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { consoleTest } from "./console_rig.ts";
import { ownStreams } from "./page_with_own_streams.ts";
import { startMachine } from "./machine_rig.ts";

const GONE = "The cloud cannot be reached. What you see may be out of date; reconnecting.";

consoleTest(
  import.meta.url,
  "when the cloud is gone pages say so, keep what was typed, and come back by themselves",
  async (rig) => {
    const { made } = rig;
    const fleet = await rig.signedIn("/");
    const form = await rig.signedIn("/organization");
    const draft = await rig.signedIn(`/machines/${made.machine_id}/configure`);
    await fleet.page.getByRole("link", { name: "rover" }).waitFor();
    await form.page.getByRole("button", { name: "Invite", exact: true }).click();
    const dialog = form.page.getByRole("dialog");
    const address = dialog.getByLabel("E-mail address");
    await address.fill("bob@example.com");
    await dialog.getByLabel("Role").selectOption("owner");
    await draft.page.getByRole("button", { name: "Add", exact: true }).first().click();
    await draft.page.getByPlaceholder("Search models").fill("sensor http");
    await draft.page.getByRole("button", { name: "sensor rdk:builtin:http" }).click();
    await draft.page.getByLabel("Name of the resource").fill("weather");
    await draft.page.keyboard.press("Enter");
    await draft.page.getByLabel("url").fill("http://127.0.0.1:9/half");

    const bringBack = await rig.cutOff();
    for (const { page } of [fleet, form, draft]) await page.getByText(GONE).waitFor();
    await fleet.page.getByRole("link", { name: "rover" }).waitFor();
    await fleet.inspect("fault-cloud-gone");
    const send = dialog.getByRole("button", { name: "Invite", exact: true });
    await send.click();
    await dialog.getByText("What you typed is kept; try again when it is back.").waitFor();
    assert.equal(await address.inputValue(), "bob@example.com");
    await form.inspect("fault-cloud-gone-form");
    await draft.page.getByLabel("interval").fill("7s");
    await bringBack();
    for (const { page } of [fleet, form, draft]) {
      await page.getByText(GONE).waitFor({ state: "detached" });
    }
    assert.equal(await dialog.getByLabel("Role").inputValue(), "owner");
    await send.click();
    await form.page.getByRole("list", { name: "Pending invitations" }).getByText(
      "bob@example.com",
      { exact: true },
    ).waitFor();
    await draft.page.getByRole("button", { name: "Review and save" }).click();
    await draft.page.getByRole("button", { name: "Save", exact: true }).click();
    await draft.page.getByText("Saved. No changes.").waitFor();
    const { configJson } = await rig.app.getRobotPart({ id: made.part_id });
    assert.deepEqual(JSON.parse(configJson).components[0].attributes, {
      ...{ url: "http://127.0.0.1:9/half", interval: "7s" },
    });
    for (const page of [fleet, form, draft]) page.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a log whose cloud was gone has the lines of meanwhile, and streams end when nobody looks",
  async (rig) => {
    const { app, made } = rig;
    const { part_id: id } = made;
    const log = async (message: string) => {
      const line = { level: "info", message, loggerName: "rdk", host: "h", time: timestampNow() };
      await rig.part(RobotService).log({ id, logs: [line] });
    };
    await log("before");
    const opened = await ownStreams(rig, `/machines/${made.machine_id}/logs`);
    const { page } = opened;
    await page.getByText("before", { exact: true }).waitFor();
    const bringBack = await rig.cutOff();
    await page.getByText(GONE).waitFor();
    // The page finds the cloud again when this line is there already: no stream sends it.
    await page.route("**/TailRobotPartLogs", (route) => route.abort());
    await bringBack();
    await log("meanwhile");
    await waitFor(async () => (await app.getRobotPartLogs({ id })).logs.length === 2, {
      deadlineMs: 60_000,
    });
    await page.unroute("**/TailRobotPartLogs");
    await page.getByText("meanwhile", { exact: true }).waitFor();
    await page.getByText(GONE).waitFor({ state: "detached" });
    await page.getByText("before", { exact: true }).waitFor();

    // A browser may keep a page that was left; it must not keep its connections.
    const streams = ["/WatchFleet", "/TailRobotPartLogs"];
    const ended = () =>
      Promise.all(
        streams.map((name) =>
          page.waitForEvent("requestfailed", (request) => request.url().endsWith(name))
        ),
      );
    const begun = () =>
      Promise.all(
        streams.map((name) => page.waitForRequest((request) => request.url().endsWith(name))),
      );
    const left = (name: string) =>
      page.evaluate(`dispatchEvent(new PageTransitionEvent("${name}", { persisted: true }))`);
    await Promise.all([ended(), left("pagehide")]);
    await Promise.all([begun(), left("pageshow")]);
    // Nor does one in another tab.
    const hidden = (is: boolean) =>
      page.evaluate(`
        Object.defineProperty(document, "hidden", { configurable: true, value: ${is} });
        document.dispatchEvent(new Event("visibilitychange"));
      `);
    await Promise.all([ended(), hidden(true)]);
    await Promise.all([begun(), hidden(false)]);
    assert.equal(await page.getByText(GONE).count(), 0);
    opened.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a draft outlives the session, and a role that is taken away is told where it is missed",
  async (rig) => {
    const { app, made } = rig;
    const role = (name: string, identityId = "") => ({
      ...{ authorizationType: "role", authorizationId: `organization_${name}` },
      ...{ resourceType: "organization", resourceId: made.org_id, organizationId: made.org_id },
      ...{ identityId, identityType: "api-key" },
    });
    const owner = await app.createKey({ name: "second", authorizations: [role("owner")] });
    const opened = await rig.page();
    const { page } = opened;
    const signIn = async (id: string, key: string) => {
      await page.getByRole("button", { name: "API key" }).click();
      await page.getByLabel("Key id").fill(id);
      await page.getByLabel("Key", { exact: true }).fill(key);
      await page.keyboard.press("Enter");
    };
    await opened.go(`/machines/${made.machine_id}/configure`);
    await signIn(owner.id, owner.key);
    await page.getByRole("button", { name: "Add", exact: true }).first().click();
    await page.getByPlaceholder("Search models").fill("sensor http");
    await page.getByRole("button", { name: "sensor rdk:builtin:http" }).click();
    await page.getByLabel("Name of the resource").fill("weather");
    await page.keyboard.press("Enter");
    await page.getByText("1 unsaved change").waitFor();
    // The key counts for less while the page is open.
    await app.changeRole({
      oldAuthorization: role("owner", owner.id),
      newAuthorization: role("operator", owner.id),
    });
    await page.getByText("You may look at this machine, not at its configuration.").waitFor();
    await page.getByText("Your unsaved changes are kept in this browser").waitFor();
    await page.getByRole("button", { name: "Copy the draft" }).waitFor();
    await opened.inspect("fault-role-gone");
    await app.deleteKey({ id: owner.id });
    await page.getByText("Your session has ended. Sign in again.").waitFor();
    await signIn(made.api_key_id, made.api_key);
    await page.getByText("Your draft from before is here again.").waitFor();
    await page.getByText("1 unsaved change").waitFor();
    opened.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a machine that somebody else deletes is told on its pages and leaves the fleet",
  async (rig) => {
    const { app, made } = rig;
    const paths = ["", "/configure", "/logs", "/control", "/settings"];
    const pages = await Promise.all(
      paths.map((path) => rig.signedIn(`/machines/${made.machine_id}${path}`)),
    );
    const fleet = await rig.signedIn("/");
    await fleet.page.getByRole("link", { name: "rover" }).waitFor();
    for (const { page } of pages) await page.getByRole("heading", { name: "rover" }).waitFor();
    const other = await rig.as("api-key", made.api_key_id, made.api_key, AppService);
    await other.deleteRobot({ id: made.machine_id });
    for (const { page } of pages) {
      await page.getByText("It does not exist (any more).").first().waitFor();
    }
    await pages[0]?.inspect("fault-machine-deleted");
    await fleet.page.getByText("No machines yet").waitFor();
    await assert.rejects(app.getRobot({ id: made.machine_id }));
    for (const page of pages) page.complaints.splice(0);
  },
);

consoleTest(
  import.meta.url,
  "a machine that stops answering the browser is told, and used again when it answers",
  async (rig) => {
    await using machine = await startMachine(rig);
    const opened = await rig.signedIn(`/machines/${rig.made.machine_id}/control`);
    const { page } = opened;
    await page.getByText("Connected directly").waitFor();
    const card = page.getByRole("region", { name: "servo-1, rdk:component:servo", exact: true });
    await card.waitFor();
    process.kill(machine.server.pid, "SIGSTOP");
    try {
      await page.getByText("Not connected").waitFor();
      await page.getByText(/The machine does not answer|The machine is offline/).first().waitFor();
      assert.ok(await page.getByRole("button", { name: "Stop all" }).isDisabled());
      assert.equal(await card.count(), 1, "the page keeps what it has");
      await opened.inspect("fault-machine-silent");
    } finally {
      process.kill(machine.server.pid, "SIGCONT");
    }
    // The attempt of that moment may wait out its 20 s, and the pause after it.
    await page.getByText("Connected directly").waitFor({ timeout: 120_000 });
    await card.scrollIntoViewIfNeeded();
    await card.getByLabel(/Angle/).fill("120");
    await card.getByText("at 120°").waitFor();

    // The network of the browser itself.
    await opened.context.setOffline(true);
    await page.getByText(GONE).waitFor();
    await opened.context.setOffline(false);
    await page.getByText(GONE).waitFor({ state: "detached" });
    opened.complaints.splice(0);
  },
);
