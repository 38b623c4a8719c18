/** Many windows of one browser: without TLS it has six connections for all of them. */
import assert from "node:assert/strict";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { addOwner } from "../../cloud/local/people/people_command.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { type ConsoleRig, consoleTest } from "./console_rig.ts";

const WINDOWS = 8;

consoleTest(
  import.meta.url,
  "many windows of a browser see changes and log lines, and come back after a break",
  async (rig) => {
    const { app, made } = rig;
    const log = (message: string) =>
      rig.part(RobotService).log({
        id: made.part_id,
        logs: [{
          ...{ host: "h", level: "info", loggerName: "rdk", message },
          time: timestampFromDate(new Date()),
        }],
      });
    await log("line 1");
    const first = await rig.signedIn("/");
    const pages = [first.page];
    for (let at = 1; at < WINDOWS; at++) {
      const page = await first.context.newPage();
      page.setDefaultTimeout(90_000);
      await page.goto(rig.cloud.url + (at % 2 === 0 ? "/" : `/machines/${made.machine_id}/logs`));
      pages.push(page);
    }
    const [fleets, logs] = [0, 1].map((rest) => pages.filter((_, at) => at % 2 === rest));
    for (const page of logs!) await page.getByText("line 1").waitFor();
    await log("line 2");
    for (const page of logs!) await page.getByText("line 2").waitFor();
    await app.updateRobot({ id: made.machine_id, name: "tractor", location: made.location_id });
    for (const page of fleets!) {
      await page.getByRole("link", { name: "tractor", exact: true }).waitFor();
    }
    assert.equal(await first.page.getByText("rover").count(), 0);

    const restart = await rig.cutOff();
    for (const page of pages) await page.getByText("The cloud cannot be reached").waitFor();
    first.complaints.splice(0);
    await restart();
    for (const page of pages) {
      await page.getByText("The cloud cannot be reached").waitFor({ state: "detached" });
    }
    // One that opened the streams goes; the others do not notice.
    await first.page.close();
    await log("line 3");
    for (const page of logs!) await page.getByText("line 3").waitFor();
    first.complaints.splice(0);
  },
);

const EMAIL = "ann@example.com";
const PASSWORD = "correct horse battery";

async function makeOwner(rig: ConsoleRig): Promise<void> {
  const folder = await openDataFolder(rig.dataDir, systemRandom);
  const deps = { clock: systemClock, random: systemRandom };
  const person = { email: EMAIL, orgId: rig.made.org_id };
  const token = await addOwner(folder.database.queries, person, deps)
    .finally(() => folder.database.close());
  await rig.client(AccountService).setPassword({ token: token ?? "", password: PASSWORD });
}

consoleTest(
  import.meta.url,
  "a window does not end with the streams of an earlier session of the same person",
  async (rig) => {
    await makeOwner(rig);
    const opened = await rig.page();
    const signIn = `fetch("/account/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: ${JSON.stringify(JSON.stringify({ email: EMAIL, password: PASSWORD }))},
    }).then(({ status }) => status)`;
    await opened.go("/account");
    assert.equal(await opened.page.evaluate(signIn), 200);
    await opened.go("/");
    await opened.page.getByRole("link", { name: "rover" }).waitFor();
    const first = await opened.context.cookies();
    assert.equal(await opened.page.evaluate(signIn), 200);
    const later = await opened.context.newPage();
    later.setDefaultTimeout(90_000);
    await later.goto(rig.cloud.url);
    await later.getByRole("link", { name: "rover" }).waitFor();

    const ending = await rig.page();
    await ending.context.addCookies(first);
    await ending.go("/account");
    const end = `fetch("/account/session", { method: "DELETE" }).then(({ status }) => status)`;
    assert.equal(await ending.page.evaluate(end), 204);
    await opened.page.getByText("Your session has ended. Sign in again.").waitFor();
    const { app, made } = rig;
    await app.updateRobot({ id: made.machine_id, name: "tractor", location: made.location_id });
    await later.getByRole("link", { name: "tractor" }).waitFor();
    // Both ask with the session that has ended until they are closed.
    for (const { page, complaints } of [opened, ending]) {
      await page.close();
      complaints.splice(0);
    }
  },
);
