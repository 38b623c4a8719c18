/** A configuration file on this host, read again when it changes. */
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { JsoncError, parseJsonc } from "../../../shared/base/files/jsonc.ts";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { type ReadVariable, substituteVariables } from "./placeholders.ts";

/** From a change to the first look at it; most writers are done by then. Milliseconds. */
const QUICK_MS = 15;
/** A file that was left alone so long is not being written any more. Milliseconds. */
const CALM_MS = 500;
/** From the end of a watched file to the first look for the next one of its path. Milliseconds. */
const REWATCH_MS = 20;
/** How often the file is looked at, because watchers fail. Milliseconds. */
const POLL_MS = 2_000;

/** A configuration file cannot be used. One line: which file, what is wrong. */
export class ConfigurationFileError extends Error {
  override readonly name = "ConfigurationFileError";
}

/** What a configuration file holds. */
export interface LocalFile {
  readonly json: JsonObject;
  /** The text after substitution; changes exactly when the configuration may have. */
  readonly text: string;
  /** Variables that the file names and the environment does not have. */
  readonly missingVariables: readonly string[];
}

/**
 * Reads a configuration file: JSON, comments allowed, `${NAME}` replaced from the environment.
 *
 * @throws {ConfigurationFileError}
 */
export async function readLocalFile(path: string, read: ReadVariable): Promise<LocalFile> {
  let raw: string;
  try {
    raw = await Deno.readTextFile(path);
  } catch (error) {
    const { message } = toFileError(error, "read the configuration file", path);
    throw new ConfigurationFileError(message, { cause: error });
  }
  const { text, missing } = substituteVariables(raw, read);
  try {
    const json = parseJsonc(text);
    if (typeof json === "object" && json !== null && !Array.isArray(json)) {
      return { json, text, missingVariables: missing };
    }
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error;
    throw new ConfigurationFileError(`${path}: not JSON: ${error.message}`, { cause: error });
  }
  throw new ConfigurationFileError(`${path}: a configuration is a JSON object`);
}

export interface WatchFileOptions {
  clock: Clock;
  signal: AbortSignal;
  /**
   * The file changed. Called soon after it, when it may be half written still (`isCalm` false), and
   * again when it has been left alone for half a second.
   */
  onChange: (isCalm: boolean) => void;
}

/** Reports changes of a file, also when it is replaced by another one, until the signal aborts. */
export async function watchFile(path: string, options: WatchFileOptions): Promise<void> {
  const { clock, signal, onChange } = options;
  let seen = await markOf(path);
  let timers: Timer[] = [];
  const cancel = () => timers.forEach((timer) => timer.cancel());
  const look = async () => {
    const mark = await markOf(path);
    if (mark === seen || signal.aborted) return;
    seen = mark;
    cancel();
    timers = [
      clock.setTimer(QUICK_MS, () => onChange(false)),
      clock.setTimer(CALM_MS, () => onChange(true)),
    ];
  };
  const watching = followEvents(path, options, look);
  await pollLoop(look, { clock, intervalMs: POLL_MS, firstMs: POLL_MS }, signal);
  cancel();
  await watching;
}

/**
 * Calls `look` on each event of the file. What is watched is the file and not its folder: of a
 * folder Deno 2.9.6 opens what appears in it, and a named pipe there would hold up the whole
 * program when the watcher is closed.
 */
async function followEvents(
  path: string,
  { clock, signal }: Pick<WatchFileOptions, "clock" | "signal">,
  look: () => Promise<void>,
): Promise<void> {
  let waitMs = REWATCH_MS;
  while (!signal.aborted) {
    try {
      await followFile(path, signal, async () => {
        waitMs = REWATCH_MS;
        await look();
      });
      await look();
    } catch {
      // It is not there, or watching does not work; the regular look finds changes all the same.
    }
    try {
      await clock.sleep(waitMs, signal);
    } catch {
      return;
    }
    waitMs = Math.min(2 * waitMs, POLL_MS);
  }
}

/** Returns when another file has taken the path; editors replace files. */
async function followFile(
  path: string,
  signal: AbortSignal,
  look: () => Promise<void>,
): Promise<void> {
  const watched = await inodeOf(path);
  if (signal.aborted) return;
  using watcher = Deno.watchFs(path, { recursive: false });
  const close = () => closeQuietly(watcher);
  signal.addEventListener("abort", close, { once: true });
  try {
    // What happened before it was watched.
    if (await inodeOf(path) !== watched) return;
    await look();
    for await (const { kind } of watcher) {
      await look();
      // The number of a removed file is soon that of another one.
      if (kind === "remove" || await inodeOf(path) !== watched) return;
    }
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/** Undefined when there is no file; null where files have no such number. */
async function inodeOf(path: string): Promise<number | bigint | null | undefined> {
  try {
    return (await Deno.stat(path)).ino;
  } catch {
    return undefined;
  }
}

function closeQuietly(watcher: Deno.FsWatcher): void {
  try {
    watcher.close();
  } catch {
    // Closed already.
  }
}

/** Changes when the file's content may have. */
async function markOf(path: string): Promise<string> {
  try {
    const { mtime, size, ino } = await Deno.stat(path);
    return `${mtime?.getTime()} ${size} ${ino}`;
  } catch {
    return "missing";
  }
}
