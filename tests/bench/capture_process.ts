/**
 * What the bench of capture measures: the data manager alone in a process of its own, with a fake
 * sensor. Argument: seconds. Prints a {@link CaptureFigures} as JSON.
 */
import { join } from "node:path";
import process from "node:process";
import { decodeCapture } from "../../shared/capture_file/decode.ts";
import { filesIn, testSensor, withRig } from "../../server/data/testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { percentile } from "./report.ts";

export interface CaptureFigures {
  readonly captured: number;
  /** Ticks of the time that have no reading on the disk. */
  readonly missed: number;
  /** Of one core, 0 to 1. */
  readonly cpuShare: number;
  /** From one reading to the next, beyond a millisecond. */
  readonly lateP99Ms: number;
}

const HZ = 1_000;

async function main(seconds: number): Promise<void> {
  await withRig(async (rig) => {
    await rig.configure(testSensor("fake", () => ({ a: 1, b: 2, c: 3 }), {
      method: "Readings",
      capture_frequency_hz: HZ,
    }));
    const manager = await rig.start({ sync_disabled: true });
    const before = process.cpuUsage();
    const beganMs = performance.now();
    await systemClock.sleep(seconds * 1_000);
    const { user, system } = process.cpuUsage(before);
    const wallMs = performance.now() - beganMs;
    const [counts] = manager.getStatus()["capture"] as unknown as {
      captured: number;
      overlapped: number;
      late: number;
    }[];
    await manager.close();
    const times: number[] = [];
    for (const file of await filesIn(rig.folder)) {
      const { readings } = decodeCapture(await Deno.readFile(join(rig.folder, file)));
      for (const { metadata } of readings) {
        const { seconds, nanos } = metadata!.timeRequested!;
        times.push(Number(seconds) * 1_000 + nanos / 1e6);
      }
    }
    times.sort((a, b) => a - b);
    const gaps = times.slice(1).map((time, index) => time - times[index]! - 1_000 / HZ);
    const expected = Math.floor(wallMs * HZ / 1_000);
    const figures: CaptureFigures = {
      captured: times.length,
      missed: counts!.late + counts!.overlapped + Math.max(0, expected - times.length - 2),
      cpuShare: (user + system) / 1_000 / wallMs,
      lateP99Ms: percentile(gaps, 0.99),
    };
    process.stdout.write(JSON.stringify(figures));
  });
}

if (import.meta.main) await main(Number(Deno.args[0]));
