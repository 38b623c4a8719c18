/** A configuration file on this computer, read again when it changes. */
import { basename, dirname } from "node:path";
import { toFileError } from "../../shared/files/fs_error.ts";
import { JsoncError, parseJsonc } from "../../shared/files/jsonc.ts";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Clock, Timer } from "../../shared/time/clock.ts";
import { type ReadVariable, substituteVariables } from "./placeholders.ts";

/** From a change to the first look at it; most writers are done by then. Milliseconds. */
const QUICK_MS = 15;
/** A file that was left alone so long is not being written any more. Milliseconds. */
const CALM_MS = 500;
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

/** Tells of changes of a file, also when it is replaced by another one, until the signal aborts. */
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
  const watching = followEvents(path, signal, look);
  while (!signal.aborted) {
    try {
      await clock.sleep(POLL_MS, signal);
      await look();
    } catch {
      break;
    }
  }
  cancel();
  await watching;
}

/** Calls `look` on each event in the file's folder; ends quietly where watching does not work. */
async function followEvents(
  path: string,
  signal: AbortSignal,
  look: () => Promise<void>,
): Promise<void> {
  try {
    if (signal.aborted) return;
    // The folder and not the file: editors replace files.
    using watcher = Deno.watchFs(dirname(path), { recursive: false });
    signal.addEventListener("abort", () => closeQuietly(watcher), { once: true });
    for await (const event of watcher) {
      if (event.paths.some((changed) => basename(changed) === basename(path))) await look();
    }
  } catch {
    // The regular look finds changes all the same.
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
