/** The page of a machine, in a browser. */
import { create } from "@bufbuild/protobuf";
import { timestampFromDate, timestampNow } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import {
  GetMachineStatusResponseSchema,
  ResourceStatus_State as State,
} from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { consoleTest, PHONE } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";
import { WAIT } from "./machine_rig.ts";

const sensor = (name: string) => ({ namespace: "rdk", type: "component", subtype: "sensor", name });

consoleTest(
  import.meta.url,
  "a machine's overview answers whether it is well, with live readings",
  async (rig) => {
    const { made } = rig;
    const machine = rig.part(MachineService);
    const events = machine.watch({ partId: made.part_id })[Symbol.asyncIterator]();
    await events.next();
    const host = {
      ...{ hostname: "rover-7", os: "Linux 6.1", cpu_percent: 12.5, cpu_count: 4, load_1m: 0.5 },
      ...{ memory_used_percent: 93.2, memory_used_bytes: 3.7e9, memory_total_bytes: 4e9 },
      ...{ disk_used_percent: 40, uptime_seconds: 90_061, process_count: 123 },
      ...{ network_rx_bytes_per_second: 1200, network_tx_bytes_per_second: 88_000 },
    };
    const report = (broken: boolean, values: Record<string, string | number>) =>
      machine.reportStatus({
        partId: made.part_id,
        status: create(GetMachineStatusResponseSchema, {
          resources: ["host", "climate"].map((name) => ({
            name: sensor(name),
            state: broken && name === "climate" ? State.UNHEALTHY : State.READY,
            error: broken && name === "climate" ? "no device at /dev/i2c-1" : "",
            lastUpdated: timestampNow(),
          })),
        }),
        readings: [
          { name: "host", readings: host },
          broken
            ? { name: "climate", error: "no device at /dev/i2c-1" }
            : { name: "climate", readings: values },
        ],
      });
    await report(false, { temperature: 21.25 });
    const opened = await rig.signedIn(`/machines/${made.machine_id}`);
    const { page } = opened;
    await page.getByText("It is well.").waitFor();
    await page.getByText("93.2 %").waitFor();
    await opened.inspect("machine-overview");
    await report(false, { temperature: 22.5 });
    await page.getByRole("cell", { name: "22.5" }).waitFor();
    await report(true, {});
    await page.getByText("1 of 2 resources is unhealthy.").waitFor();
    assert.equal(await page.getByText("no device at /dev/i2c-1").count(), 2);
    await report(false, Object.fromEntries(HOSTILE.map((text, at) => [text, at])));
    await page.getByText("onerror=").waitFor();
    await opened.inspect("machine-hostile");

    // The last tab is outside of a phone's window, until one is there.
    await page.setViewportSize(PHONE);
    await opened.go(`/machines/${made.machine_id}/settings`);
    const tab = page.getByRole("link", { name: "Settings", exact: true });
    await tab.waitFor();
    await waitFor(async () => {
      const box = await tab.boundingBox();
      return box !== null && box.x >= 0 && box.x + box.width <= PHONE.width;
    }, WAIT);
  },
);

consoleTest(
  import.meta.url,
  "a machine's logs follow, pause, filter and load older lines",
  async (rig) => {
    const { made } = rig;
    const server = rig.part(RobotService);
    let minute = 0;
    const log = (level: string, message: string, loggerName = "rdk.arm") =>
      server.log({
        id: made.part_id,
        logs: [{
          ...{ host: "h", level, message, loggerName },
          time: timestampFromDate(new Date(Date.now() - 3_600_000 + minute++ * 1000)),
        }],
      });
    for (let at = 0; at < 250; at++) await log("info", `line ${at}`);
    await log("error", `cannot move ${HOSTILE[0]}`);
    await log("warn", HOSTILE[3] ?? "", HOSTILE[3]?.slice(0, 200));
    const opened = await rig.signedIn(`/machines/${made.machine_id}/logs`);
    const { page } = opened;
    await page.getByText("cannot move").waitFor();
    await page.getByText("line 249", { exact: true }).waitFor();
    await opened.inspect("machine-logs");
    assert.equal(await page.getByText("line 1", { exact: true }).count(), 0);
    // The file has what the filters let through, not only what the page has loaded.
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download" }).click(),
    ]);
    const saved = (await Deno.readTextFile(await file.path())).trim().split("\n");
    assert.equal(saved.length, 252);
    assert.match(saved[0] ?? "", /line 0$/);
    await page.getByRole("button", { name: "Load older lines" }).click();
    await page.getByText("line 1", { exact: true }).waitFor();

    await log("info", "fresh one");
    await page.getByText("fresh one").waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await log("info", "while paused");
    await page.getByRole("button", { name: "Follow (1)" }).waitFor();
    assert.equal(await page.getByText("while paused").count(), 0);
    await page.getByRole("button", { name: "Follow (1)" }).click();
    await page.getByText("while paused").waitFor();

    await page.getByLabel("Level").selectOption("error");
    await page.getByText("line 249", { exact: true }).waitFor({ state: "detached" });
    await page.waitForURL(/level=error/);
    assert.equal(await page.locator("ol > li").count(), 1);
    await page.getByPlaceholder("Search the lines").fill("nothing like it");
    await page.getByText("No line fits the filters").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.getByText("while paused").waitFor();
  },
);

consoleTest(
  import.meta.url,
  "a machine's logs of a time range, which is in the address",
  async (rig) => {
    const { made } = rig;
    const start = Date.UTC(2026, 0, 2, 12);
    const at = (second: number) => new Date(start + second * 1000);
    const entry = (message: string, second: number) => ({
      ...{
        host: "h",
        level: "info",
        message,
        loggerName: "rdk",
        time: timestampFromDate(at(second)),
      },
    });
    const server = rig.part(RobotService);
    const logs = [entry("before it", 0), entry("in it", 60), entry("after it", 120)];
    await server.log({ id: made.part_id, logs });
    const opened = await rig.signedIn(
      `/machines/${made.machine_id}/logs?from=${at(30).toISOString()}`,
      { timezoneId: "Europe/Berlin" },
    );
    const { page } = opened;
    await page.getByText("in it").waitFor();
    assert.equal(await page.getByText("before it").count(), 0);
    assert.equal(await page.getByLabel("From").inputValue(), "2026-01-02T13:00:30");
    await page.getByLabel("Until").fill("2026-01-02T13:01:30");
    await page.getByLabel("Until").blur();
    await page.getByText("after it").waitFor({ state: "detached" });
    await page.getByText("in it").waitFor();
    await page.waitForURL(/to=2026-01-02T12%3A01%3A30/);
    // A line that comes now is not of that time.
    await server.log({ id: made.part_id, logs: [entry("much later", 3_600)] });
    await page.getByLabel("Until").fill("2026-01-02T12:00:00");
    await page.getByLabel("Until").blur();
    await page.getByText("Before the beginning").waitFor();
    assert.equal(await page.getByText("much later").count(), 0);
    await opened.inspect("machine-logs-range");
    await page.getByRole("button", { name: "Time range" }).click();
    await page.getByText("much later").waitFor();
    assert.doesNotMatch(page.url(), /from=|to=/);
  },
);
