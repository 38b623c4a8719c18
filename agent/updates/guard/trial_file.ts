/**
 * The files by which the agent and its start guard (`start_guard.sh`) speak with each other. The
 * guard reads and rewrites them in shell, so they are plain lines; the last one shows that nothing
 * is missing.
 */
import { dirname, join } from "node:path";
import {
  replaceSymlink,
  syncFolder,
  writeFileAtomic,
} from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";

/** Exit code by which the agent asks whoever started it to start what its link leads to now. */
export const UPDATE_EXIT_CODE = 75;

/** How long the guard lets a trial last in one boot of the host, unless set otherwise. */
const DEFAULT_LIMIT_S = 900;

/** A version of the agent that has to prove itself. Paths are those that the link leads to. */
export interface Trial {
  readonly trial: string;
  readonly previous: string;
  /** Seconds from its first start in a boot of the host to the end of the guard's patience. */
  readonly limitS: number;
  /** Starts so far, as the guard counts them: a reboot is no failure. */
  readonly starts: number;
  /** Boots of the host in which it was started. */
  readonly boots: number;
}

/** What the guard did. */
export interface GuardRollback {
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  /** By this host's clock. */
  readonly at: Date;
}

/** Paths of the guard's files in the agent's folder. */
export function guardFiles(dir: string) {
  return {
    link: join(dir, "bin", "machine-agent"),
    previousLink: join(dir, "bin", "machine-agent-previous"),
    guard: join(dir, "bin", "machine-agent-guard"),
    launcher: join(dir, "bin", "machine-agent-launcher"),
    trial: join(dir, "etc", "agent-trial"),
    rollback: join(dir, "etc", "agent-rolled-back"),
  };
}

/**
 * Puts a version on trial, as far as the guard is concerned. The link is not touched: the caller
 * replaces it next, and ends with {@link UPDATE_EXIT_CODE}. Cut off in between, the trial file is
 * there with `starts` 0 and the link still leads to `previous`.
 *
 * @throws {FileError}
 */
export async function beginTrial(
  dir: string,
  { trial, previous, limitS = DEFAULT_LIMIT_S }: {
    trial: string;
    previous: string;
    limitS?: number;
  },
): Promise<void> {
  const files = guardFiles(dir);
  await replaceSymlink(previous, files.previousLink);
  const text = formatTrial({ trial, previous, limitS, starts: 0, boots: 0 });
  await writeFileAtomic(files.trial, text, { mode: 0o644 });
}

/** The trial that is on or about to begin; `damaged` when the file cannot be understood. */
export async function readTrial(dir: string): Promise<Trial | "damaged" | undefined> {
  const text = await readIfExists(guardFiles(dir).trial);
  return text === undefined ? undefined : parseTrial(text) ?? "damaged";
}

/**
 * Ends a trial: the version in use is trusted from now on, or the plan is abandoned before the link
 * was replaced. Without a trial it does nothing.
 *
 * @throws {FileError} the trial is then still on.
 */
export async function endTrial(dir: string): Promise<void> {
  await removeFile(guardFiles(dir).trial);
}

/**
 * Takes back the start that the guard counted last: the version on trial ended in order, because
 * it was asked to, and that speaks neither for nor against it.
 */
export async function forgiveStart(dir: string): Promise<void> {
  const path = guardFiles(dir).trial;
  const text = await readIfExists(path);
  const trial = text === undefined ? undefined : parseTrial(text);
  if (text === undefined || !trial || trial.starts === 0) return;
  const forgiven = text.replace(/^starts=\d+$/m, `starts=${trial.starts - 1}`);
  await writeFileAtomic(path, forgiven, { mode: 0o644 });
}

/** What the guard did since {@link forgetRollback}; a note that is damaged shows only that. */
export async function readRollback(dir: string): Promise<GuardRollback | undefined> {
  const text = await readIfExists(guardFiles(dir).rollback);
  return text === undefined ? undefined : parseRollback(text);
}

/**
 * Leaves the same note as the guard: the version on trial gives itself up, and the one before it
 * shall show why.
 *
 * @throws {FileError}
 */
export async function writeRollback(
  dir: string,
  { from, to, reason, at }: GuardRollback,
): Promise<void> {
  const text = [
    ROLLBACK_HEAD,
    `from=${from}`,
    `to=${to}`,
    `reason=${reason.replaceAll(/[\r\n]+/g, " ")}`,
    `at=${Math.floor(at.getTime() / 1000)}`,
    "end\n",
  ].join("\n");
  await writeFileAtomic(guardFiles(dir).rollback, text, { mode: 0o644 });
}

/** Removes the guard's note, once it is kept elsewhere. */
export async function forgetRollback(dir: string): Promise<void> {
  await removeFile(guardFiles(dir).rollback);
}

function formatTrial({ trial, previous, limitS, starts, boots }: Trial): string {
  for (const path of [trial, previous]) {
    if (path.includes("\n")) throw new Error(`a path with a line feed: ${JSON.stringify(path)}`);
  }
  return [
    TRIAL_HEAD,
    `trial=${trial}`,
    `previous=${previous}`,
    `limit=${limitS}`,
    `starts=${starts}`,
    `boots=${boots}`,
    "boot=",
    "until=",
    "end\n",
  ].join("\n");
}

const TRIAL_HEAD = "machine-agent trial 1";
const ROLLBACK_HEAD = "machine-agent rollback 1";

function parseTrial(text: string): Trial | undefined {
  const fields = parseFields(text, TRIAL_HEAD);
  const { trial, previous } = fields ?? {};
  const [limitS, starts, boots] = ["limit", "starts", "boots"].map((name) => whole(fields?.[name]));
  if (!trial || !previous) return undefined;
  if (limitS === undefined || starts === undefined || boots === undefined) return undefined;
  return { trial, previous, limitS, starts, boots };
}

function parseRollback(text: string): GuardRollback {
  const { from = "", to = "", reason, at } = parseFields(text, ROLLBACK_HEAD) ?? {};
  return {
    from,
    to,
    reason: reason ?? "the start guard put the previous version back; its note is damaged",
    at: new Date((whole(at) ?? 0) * 1000),
  };
}

/** The `name=value` lines between the head and the end; undefined when either is missing. */
function parseFields(text: string, head: string): Record<string, string> | undefined {
  const lines = text.split("\n");
  if (lines[0] !== head || lines.at(-1) !== "" || lines.at(-2) !== "end") return undefined;
  return Object.fromEntries(
    lines.slice(1, -2).flatMap((line) => {
      const at = line.indexOf("=");
      return at === -1 ? [] : [[line.slice(0, at), line.slice(at + 1)]];
    }),
  );
}

/** As the guard's shell can count: nine digits and, for the time of the note, a few more. */
function whole(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}

async function removeFile(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return;
    throw toFileError(error, "remove", path);
  }
  await syncFolder(dirname(path));
}
