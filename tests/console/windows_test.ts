/** Many windows of one browser: without TLS it has six connections for all of them. */
import assert from "node:assert/strict";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { consoleTest } from "./console_rig.ts";

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
