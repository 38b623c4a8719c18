/** The program ffmpeg, as a child that lives no longer than this process: its input is our pipe. */

/** A run of the program. */
export interface FfmpegRun {
  /** Its output, until it ends. */
  readonly output: AsyncIterable<Uint8Array>;
  /** How it ended, and what it said last: "it exited with code 1: …". Never rejects. */
  readonly ended: Promise<{
    readonly ok: boolean;
    readonly reason: string;
    /** The end of its messages. */
    readonly said: string;
  }>;
  /** Resolves when the program has taken the bytes; rejects when it has ended. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends it at once. */
  kill(): void;
}

/** Starts ffmpeg. */
export type StartFfmpeg = (args: readonly string[]) => FfmpegRun;

/** What of its messages is kept, for errors. */
const LAST_WORDS = 4_000;

/**
 * The one of this host, by `PATH`.
 *
 * @throws {Deno.errors.NotFound} where it is not installed.
 */
export function startFfmpeg(args: readonly string[]): FfmpegRun {
  const child = new Deno.Command("ffmpeg", {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  writer.closed.catch(() => {});
  let words = "";
  const listening = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
      words = (words + text).slice(-LAST_WORDS);
    }
  })().catch(() => {});
  const ended = (async () => {
    const { success, code, signal } = await child.status;
    await listening;
    const last = words.trim().split("\n").at(-1) ?? "";
    const how = signal === null ? `it exited with code ${code}` : `it was killed by ${signal}`;
    return { ok: success, reason: last === "" ? how : `${how}: ${last}`, said: words };
  })();
  return {
    output: child.stdout,
    ended,
    write: (bytes) => writer.write(bytes),
    kill() {
      try {
        child.kill("SIGKILL");
      } catch {
        // It has ended.
      }
    },
  };
}
