import type { ProcessMark } from "./child_process.ts";
import type { EndSignal, ProcessTable } from "./process_table.ts";

/** Runs a system command and gives its standard output. */
export type RunCommand = (program: string, args: string[]) => string;

/**
 * The processes of a Windows system, through its own commands. Descendants are found from their
 * leader (taskkill /T), so only while that one runs.
 */
export class WindowsProcessTable implements ProcessTable {
  readonly #run: RunCommand;

  constructor(run: RunCommand = runCommand) {
    this.#run = run;
  }

  startOf(pid: number): string | undefined {
    const script = `(Get-Process -Id ${pid} -ErrorAction SilentlyContinue).StartTime.Ticks`;
    const ticks = this.#run("powershell.exe", ["-NoProfile", "-Command", script]).trim();
    return /^\d+$/.test(ticks) ? ticks : undefined;
  }

  groupOf(mark: ProcessMark): number[] {
    return this.membersOf(mark);
  }

  membersOf(mark: ProcessMark): number[] {
    return this.startOf(mark.pid) === mark.started ? [mark.pid] : [];
  }

  /** All but KILL are one here: they reach programs with a window or a console of their own. */
  signal(pids: readonly number[], signal: EndSignal): void {
    const force = signal === "KILL" ? ["/F"] : [];
    for (const pid of pids) this.#run("taskkill.exe", ["/PID", String(pid), "/T", ...force]);
  }
}

function runCommand(program: string, args: string[]): string {
  const { stdout } = new Deno.Command(program, { args, stdout: "piped", stderr: "null" })
    .outputSync();
  return new TextDecoder().decode(stdout);
}
