/** The file of this program: where it is, and how it gets to its place in the agent's folder. */
import { createHash } from "node:crypto";
import { basename, dirname, join } from "node:path";
import {
  replaceSymlink,
  syncFolder,
  writeFileAtomic,
} from "../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import { cacheName } from "../updates/downloads/wanted_file.ts";
import { endTrial, guardFiles } from "../updates/guard/trial_file.ts";
import { programLink } from "../updates/updater/program_link.ts";

/** The shell scripts next to the agent: the start guard and the launcher. */
export interface Scripts {
  readonly guard: string;
  readonly launcher: string;
}

/** Their text, out of this program. */
export async function readScripts(): Promise<Scripts> {
  const folder = buildInfo.assetsDir("../updates/guard", import.meta.url);
  const [guard, launcher] = await Promise.all(
    ["start_guard.sh", "launcher.sh"].map((name) => Deno.readTextFile(join(folder, name))),
  );
  return { guard: guard ?? "", launcher: launcher ?? "" };
}

export interface PlaceOptions {
  /** Agent's folder, as this process sees it. */
  readonly dir: string;
  /** The same as the machine sees it: another path when it is installed into an image. */
  readonly dirOnMachine: string;
  /** File of the program. */
  readonly program: string;
  readonly version: string;
  /** Undefined where there is no shell to run them: on Windows. */
  readonly scripts: Scripts | undefined;
  /** Default: this host's. */
  readonly os?: string;
}

/** What {@link placeProgram} found and did. */
export interface Placed {
  /** The program's file in the cache, as the machine sees it. */
  readonly path: string;
  /** The link led elsewhere before, or nowhere. */
  readonly isChanged: boolean;
}

/**
 * Copies the program into the cache, and the link, the start guard and the launcher into `bin`;
 * what is there already and the same is left as it is. A version on trial gives way.
 *
 * @throws {FileError}
 */
export async function placeProgram(options: PlaceOptions): Promise<Placed> {
  const { dir, dirOnMachine, program, version, scripts, os } = options;
  const files = guardFiles(dir);
  for (const folder of ["", "bin", "cache", "tmp", "etc"]) await makeFolder(join(dir, folder));
  const copy = await copyByContent(
    program,
    join(dir, "cache"),
    (sha256) => cacheName({ program: "machine-agent", version }, sha256, os),
  );
  if (scripts) {
    await writeIfNew(files.guard, scripts.guard);
    await writeIfNew(files.launcher, scripts.launcher);
  }
  const path = join(dirOnMachine, "cache", basename(copy));
  const link = programLink(join(dir, "bin"), "machine-agent", os);
  const before = await link.read();
  const isChanged = before !== path;
  if (isChanged) {
    // Without it the start guard would take the new version for the one it watches, or not know it.
    await endTrial(dir);
    // For the guard, which a folder without scripts does not have.
    if (before !== undefined && scripts) await replaceSymlink(before, files.previousLink);
    await link.turn(path);
  }
  return { path, isChanged };
}

/**
 * Copies a program into a folder under a name made of its SHA-256 (hexadecimal). A file of that
 * name that holds the same is left alone.
 *
 * @throws {FileError}
 */
async function copyByContent(
  from: string,
  folder: string,
  nameOf: (sha256: string) => string,
): Promise<string> {
  const temporary = join(folder, `.machine-agent.machine-tmp-${randomHex()}`);
  try {
    const sha256 = await copyAndHash(from, temporary);
    const path = join(folder, nameOf(sha256));
    if (await hashOf(path) === sha256) {
      await Deno.remove(temporary);
      if (Deno.build.os !== "windows") await Deno.chmod(path, 0o755);
      return path;
    }
    await Deno.rename(temporary, path);
    await syncFolder(folder);
    return path;
  } catch (error) {
    await Deno.remove(temporary).catch(() => {}); // the first error is the one to report
    throw toFileError(error, `copy ${from} to`, folder);
  }
}

async function copyAndHash(from: string, to: string): Promise<string> {
  const hash = createHash("sha256");
  using source = await Deno.open(from, { read: true });
  using target = await Deno.open(to, { write: true, createNew: true, mode: 0o755 });
  const buffer = new Uint8Array(1 << 20);
  for (let count; (count = await source.read(buffer)) !== null;) {
    hash.update(buffer.subarray(0, count));
    for (let written = 0; written < count;) {
      written += await target.write(buffer.subarray(written, count));
    }
  }
  if (Deno.build.os !== "windows") await Deno.chmod(to, 0o755);
  await target.sync();
  return hash.digest("hex");
}

/** SHA-256 of a file; undefined when it cannot be read. */
async function hashOf(path: string): Promise<string | undefined> {
  try {
    const hash = createHash("sha256");
    using file = await Deno.open(path, { read: true });
    const buffer = new Uint8Array(1 << 20);
    for (let count; (count = await file.read(buffer)) !== null;) {
      hash.update(buffer.subarray(0, count));
    }
    return hash.digest("hex");
  } catch {
    return undefined; // It is copied again.
  }
}

async function writeIfNew(path: string, text: string): Promise<void> {
  const before = await Deno.readTextFile(path).catch(() => undefined);
  const { mode } = await Deno.stat(path).catch(() => ({ mode: null }));
  if (before === text && (mode === null || (mode & 0o111) !== 0)) return;
  await writeFileAtomic(path, text, { mode: 0o755 });
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o755 });
    await syncFolder(dirname(path));
  } catch (error) {
    throw toFileError(error, "create the folder", path);
  }
}

function randomHex(): string {
  return Array.from(
    crypto.getRandomValues(new Uint8Array(8)),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
}
