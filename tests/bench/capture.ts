import { fileURLToPath } from "node:url";
import type { CaptureFigures } from "./capture_process.ts";
import type { Reporter } from "./report.ts";

const PROCESS = fileURLToPath(new URL("capture_process.ts", import.meta.url));
/** How long a sensor is read a thousand times a second. */
const SECONDS = 60;

/** A fake sensor captured at 1,000 Hz: ticks that were missed, and the part of a core it takes. */
export async function benchCapture(reporter: Reporter): Promise<void> {
  reporter.note(`${SECONDS} s of capture at 1,000 Hz …`);
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", PROCESS, String(SECONDS)],
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  if (!success) throw new Error("the capture failed, see above");
  const figures: CaptureFigures = JSON.parse(new TextDecoder().decode(stdout));
  reporter.report("capture_1000hz_readings", figures.captured, "readings");
  reporter.report("capture_1000hz_missed", figures.missed, "ticks");
  reporter.report("capture_1000hz_cpu", figures.cpuShare * 100, "%");
  reporter.report("capture_1000hz_late_p99", figures.lateP99Ms, "ms");
}
