import type {
  ChildProcess,
  OutputStream,
  ProcessRunner,
} from "../../../shared/base/process/child_process.ts";
import type { RunProgram } from "../../../shared/base/process/run_program.ts";
import { firstLine } from "../outcomes/system_outcome.ts";
import { JOURNAL_FIELDS } from "./journal_line.ts";
import { isSameLine, parseCursor } from "./resume.ts";

export interface JournalOptions {
  readonly run: RunProgram;
  readonly processes: ProcessRunner;
  /** `PATH` of this process. */
  readonly path: string;
}

/** The journal cannot be read; one sentence. */
export class JournalError extends Error {
  override readonly name = "JournalError";
}

const ASK_LIMIT_MS = 30_000;
const JSON_LINES = ["--all", "--no-pager", "--quiet", "--output=json"];

/** This host's journal, by journalctl. */
export class Journal {
  constructor(private readonly options: JournalOptions) {}

  /** The cursor of the newest line; undefined when there is none. @throws {JournalError} */
  async newest(signal: AbortSignal): Promise<string | undefined> {
    return await this.#cursorOf(["--lines=1"], signal);
  }

  /** Whether the journal has the line of a cursor. @throws {JournalError} when it is no cursor. */
  async has(cursor: string, signal: AbortSignal): Promise<boolean> {
    const found = await this.#cursorOf([`--cursor=${cursor}`, "--lines=1"], signal);
    return found !== undefined && isSameLine(parseCursor(found), parseCursor(cursor));
  }

  /**
   * Reads on and on. @throws {SpawnError}
   *
   * @param onRead while what it returns is pending, no more is read
   */
  follow(
    args: readonly string[],
    onLine: (stream: OutputStream, line: string) => void,
    onRead: () => Promise<void> | undefined,
  ): ChildProcess {
    return this.options.processes.start({
      program: "journalctl",
      args: [
        ...["--follow", "--no-tail", ...JSON_LINES],
        `--output-fields=${JOURNAL_FIELDS.join(",")}`,
        ...args,
      ],
      env: { PATH: this.options.path, LC_ALL: "C" },
      onLine,
      onRead,
    });
  }

  async #cursorOf(args: readonly string[], signal: AbortSignal): Promise<string | undefined> {
    const all = [...JSON_LINES, "--output-fields=_TRANSPORT", ...args];
    const program = ["LC_ALL=C", "journalctl", ...all];
    const { code, stdout, stderr } = await this.options.run("env", program, ASK_LIMIT_MS, signal);
    signal.throwIfAborted();
    if (code !== 0) throw new JournalError(firstLine(stderr) || `journalctl exited with ${code}`);
    const [first = ""] = stdout.split("\n");
    return /"__CURSOR":"([^"]+)"/.exec(first)?.[1];
  }
}
