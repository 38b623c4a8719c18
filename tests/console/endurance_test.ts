/** Pages that are open for long, by the number of what comes to them: they hold no more at the end. */
import assert from "node:assert/strict";
import type { CDPSession, Locator, Page } from "playwright-core";
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import {
  GetMachineStatusResponseSchema,
  ResourceStatus_State as State,
} from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { type ConsoleRig, consoleTest } from "./console_rig.ts";

const WAIT = { deadlineMs: 120_000 };

/** What a page holds after garbage was collected. */
interface Held {
  readonly nodes: number;
  readonly listeners: number;
  readonly heapBytes: number;
}

async function held(cdp: CDPSession): Promise<Held> {
  // What finalizers and observers hold goes with a second collection.
  for (let at = 0; at < 3; at++) await cdp.send("HeapProfiler.collectGarbage");
  const { metrics } = await cdp.send("Performance.getMetrics");
  const of = (name: string) => metrics.find((each) => each.name === name)?.value ?? NaN;
  return {
    ...{ nodes: of("Nodes"), listeners: of("JSEventListeners") },
    heapBytes: of("JSHeapUsedSize"),
  };
}

/**
 * Sends events in two halves after a first round that fills caches and lists to their bounds: the
 * second half must leave nothing that the first did not.
 */
async function lasts(
  page: Page,
  { round, rounds }: { readonly round: (at: number) => Promise<void>; readonly rounds: number },
): Promise<void> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Performance.enable");
  let at = 0;
  const run = async (count: number) => {
    for (const end = at + count; at < end; at++) await round(at);
  };
  await run(rounds);
  const before = await held(cdp);
  await run(rounds * 2);
  const after = await held(cdp);
  const told = JSON.stringify({ before, after });
  // Lists that are full take rows in turns, so a few nodes come and go; a leak adds some each round.
  assert.ok(after.nodes - before.nodes < rounds * 4, `nodes grow: ${told}`);
  assert.ok(after.listeners - before.listeners < rounds * 2, `listeners grow: ${told}`);
  assert.ok(after.heapBytes - before.heapBytes < 2_000_000, `the heap grows: ${told}`);
}

const isInSight = (line: Locator) =>
  line.evaluate((element) => {
    const { top, bottom } = element.getBoundingClientRect();
    const box = element.closest("section")?.getBoundingClientRect();
    return box !== undefined && top >= box.top && bottom <= box.bottom;
  });

const sensor = (name: string) => ({ namespace: "rdk", type: "component", subtype: "sensor", name });

async function reportOf(rig: ConsoleRig) {
  const machine = rig.part(MachineService);
  const partId = rig.made.part_id;
  const events = machine.watch({ partId })[Symbol.asyncIterator]();
  await events.next();
  return (value: number, broken = false) =>
    machine.reportStatus({
      partId,
      status: create(GetMachineStatusResponseSchema, {
        resources: [{
          name: sensor("climate"),
          state: broken ? State.UNHEALTHY : State.READY,
          error: broken ? `no device ${value}` : "",
          lastUpdated: timestampNow(),
        }],
      }),
      readings: [{ name: "climate", readings: { temperature: value, state: `s${value}` } }],
    });
}

consoleTest(
  import.meta.url,
  "the fleet holds no more after thousands of changes",
  async (rig) => {
    const report = await reportOf(rig);
    await report(0);
    const fleet = await rig.signedIn("/");
    await fleet.page.getByRole("link", { name: "rover" }).waitFor();
    await lasts(fleet.page, {
      rounds: 12,
      async round(at) {
        const name = `rover-${at}`;
        for (let each = 0; each < 50; each++) await report(at * 50 + each, each % 2 === 0);
        const { location_id: location, machine_id: id } = rig.made;
        await rig.app.updateRobot({ id, location, name });
        await fleet.page.getByRole("link", { name, exact: true }).waitFor();
      },
    });
    await fleet.context.close();
  },
  { hasOwnBrowser: true },
);

consoleTest(
  import.meta.url,
  "log lines that follow are kept to a bound",
  async (rig) => {
    const { made } = rig;
    const robot = rig.part(RobotService);
    const opened = await rig.signedIn(`/machines/${made.machine_id}/logs`);
    const { page } = opened;
    await page.getByRole("heading", { name: "rover" }).waitFor();
    // From here on the page follows.
    let sent = 0;
    await waitFor(async () => {
      const message = `begin ${sent++}`;
      const line = { level: "info", loggerName: "rdk", host: "h", time: timestampNow(), message };
      await robot.log({ id: made.part_id, logs: [line] });
      await page.waitForTimeout(100);
      return await page.getByText(/begin \d+/).count() > 0;
    }, WAIT);
    const LINES = 1_000;
    await lasts(page, {
      rounds: 6,
      async round(at) {
        const last = `line ${at}-${LINES - 1} end`;
        await robot.log({
          id: made.part_id,
          logs: Array.from({ length: LINES }, (_, line) => ({
            ...{ level: "info", loggerName: "rdk", host: "h" },
            time: timestampNow(),
            message: line === LINES - 1 ? last : `line ${at}-${line} ${"x".repeat(100)}`,
          })),
        });
        // The page follows: nobody scrolls.
        const end = page.getByText(last, { exact: true });
        await waitFor(async () => await end.count() > 0 && await isInSight(end), WAIT);
      },
    });
    await page.locator("section.box").hover();
    await page.mouse.wheel(0, -2_000);
    await page.getByRole("button", { name: "↓ Follow" }).waitFor();
  },
  { hasOwnBrowser: true },
);
