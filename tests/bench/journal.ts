import { fileURLToPath } from "node:url";
import type { JournalFigures } from "./journal_process.ts";
import type { Reporter } from "./report.ts";

const PROCESS = fileURLToPath(new URL("journal_process.ts", import.meta.url));
const SECONDS = 30;

/** A journal of 2,000 lines a second, forwarded: what arrives, and the part of a core it takes. */
export async function benchJournal(reporter: Reporter): Promise<void> {
  reporter.note(`${SECONDS} s of forwarding a journal of 2,000 lines a second …`);
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", PROCESS, String(SECONDS)],
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  if (!success) throw new Error("forwarding failed, see above");
  const figures: JournalFigures = JSON.parse(new TextDecoder().decode(stdout));
  reporter.report("journal_forwarded", figures.linesPerSecond, "lines/s");
  reporter.report("journal_forwarded_cpu", figures.cpuShare * 100, "%");
}
