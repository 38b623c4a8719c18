/** What the product knows about other processes. The real one is `systemProcesses`. */

/** A program to start. */
export interface ChildCommand {
  /** Absolute path, or a name to look for in PATH. */
  readonly program: string;
  readonly args?: readonly string[];
  /** Default: the folder of this process. */
  readonly cwd?: string;
  /** The whole environment; nothing of this process's own is added. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Gets each line that the program prints, without its line feed. Lines that arrive in pieces
   * are joined; one longer than {@link LONGEST_LINE} bytes comes in several calls. Must not throw.
   */
  readonly onLine: (stream: OutputStream, line: string) => void;
  /**
   * Notified how many bytes were read, after their lines were handed over. While what it returns is
   * pending, no more is read and a program that prints on has to wait. Default: never.
   */
  readonly onRead?: (bytes: number) => Promise<void> | undefined;
  /**
   * The mark of the tree, letters and digits. Default: a new one. Who keeps one on disk before
   * the start finds the tree again even when killed in the moment after it.
   */
  readonly tree?: string;
  /** Who the program runs as. Only root may choose. Default: who this program runs as. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

export type OutputStream = "stdout" | "stderr";

/** Longest line handed over in one piece, in bytes: the longest log line we write ourselves. */
export const LONGEST_LINE = 128 * 1024;

/** How a process ended: a code, or the signal that ended it ("SIGKILL"). */
export interface ExitInfo {
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * Recognises a process again, also after this program was killed and restarted: the number
 * alone may belong to another process by then.
 */
export interface ProcessMark {
  readonly pid: number;
  /** When it started, as the system reports it; unique with the pid. Opaque. */
  readonly started: string;
  /** What the process and all its descendants carry in their environment. Opaque. */
  readonly tree: string;
}

/** A started program. It leads a process group of its own. */
export interface ChildProcess {
  readonly mark: ProcessMark;
  /**
   * Resolves when the program has ended, its output is handed over, and everything that it
   * started is gone: what it leaves behind is killed (TERM, 2 s later KILL). Never rejects.
   */
  readonly exited: Promise<ExitInfo>;
  /**
   * The signal (default TERM; a name without `SIG`) to the whole group, KILL after `graceMs`.
   * Resolves as `exited` does.
   *
   * @throws {TypeError} when the system has no such signal
   */
  stop(options: { graceMs: number; signal?: string }): Promise<ExitInfo>;
  /** KILL to the program and everything that it started, at once. Resolves as `exited` does. */
  kill(): Promise<ExitInfo>;
}

/** Starts programs. */
export interface ProcessRunner {
  /** @throws {SpawnError} when it cannot be started at all. */
  start(command: ChildCommand): ChildProcess;
  /**
   * Ends what is left of a process that a killed predecessor of this program had started, with
   * everything that one started. Processes that only have the same number are left alone.
   *
   * @returns how many processes were killed.
   */
  endStray(mark: ProcessMark, options: { graceMs: number }): Promise<number>;
}

/** The program cannot be started. One line: what, why, what to do. */
export class SpawnError extends Error {
  override readonly name = "SpawnError";
}

/** For log lines: "exited with code 1", "was terminated by SIGKILL". */
export function describeExit({ code, signal }: ExitInfo): string {
  return signal === null ? `exited with code ${code}` : `was terminated by ${signal}`;
}
