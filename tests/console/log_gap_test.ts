/** No line of a log is lost between what is read and what follows. */
import assert from "node:assert/strict";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { type ConsoleRig, consoleTest } from "./console_rig.ts";
import { ownStreams } from "./page_with_own_streams.ts";

const TAIL = "**/TailRobotPartLogs";

async function log(rig: ConsoleRig, message: string): Promise<void> {
  const { made } = rig;
  const time = timestampFromDate(new Date());
  await rig.part(RobotService).log({
    id: made.part_id,
    logs: [{ host: "h", level: "info", loggerName: "rdk", message, time }],
  });
}

consoleTest(
  import.meta.url,
  "earlier lines of a log are read once the cloud follows",
  async (rig) => {
    await log(rig, "the first");
    const opened = await ownStreams(rig);
    const { page } = opened;
    // However late the stream is, it comes first.
    await opened.context.addInitScript(`{
      const real = window.setTimeout;
      window.setTimeout = (run, ms, ...values) => ms === 3000 ? 0 : real(run, ms, ...values);
    }`);
    const order: string[] = [];
    page.on("response", (response) => {
      if (response.url().endsWith("/TailRobotPartLogs")) order.push("follows");
    });
    page.on("request", (request) => {
      if (request.url().endsWith("/GetRobotPartLogs")) order.push("reads");
    });
    await opened.go(`/machines/${rig.made.machine_id}/logs`);
    await page.getByText("the first").waitFor();
    assert.deepEqual(order.slice(0, 2), ["follows", "reads"]);
  },
);

consoleTest(
  import.meta.url,
  "a line that comes before a late stream of a log is shown",
  async (rig) => {
    await log(rig, "the first");
    const opened = await ownStreams(rig);
    const { page } = opened;
    const free = Promise.withResolvers<void>();
    await page.route(TAIL, async (route) => {
      await free.promise;
      await route.continue();
    });
    await opened.go(`/machines/${rig.made.machine_id}/logs`);
    await page.getByText("the first").waitFor();
    await log(rig, "in between");
    free.resolve();
    await page.getByText("in between").waitFor();
    await log(rig, "the last");
    await page.getByText("the last").waitFor();
    assert.equal(await page.locator("ol > li").count(), 3);
  },
);
