/** A folder for the tests' temporary files that no disk is behind: they write many small databases. */
import { statfsSync } from "node:fs";
import process from "node:process";

const PARENT = "/dev/shm";
/** Short, as names of sockets are, too. */
const PREFIX = "mt-";
/** Free there and in memory, bytes; the tests use less than half at a time. */
const LEAST_BYTES = 4 * 2 ** 30;

/**
 * Makes one, for every user as `/tmp` is, and removes those of runs that were killed.
 *
 * @returns its path; undefined where there is too little memory, or nothing in it may be run.
 */
export async function makeMemoryFolder(): Promise<string | undefined> {
  if (Deno.build.os !== "linux" || !hasRoom()) return undefined;
  // A container may share the folder and has processes of its own: only those here count.
  const prefix = `${PREFIX}${processNamespace()}-`;
  for (const { name } of Deno.readDirSync(PARENT)) {
    const pid = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    if (!/^\d+$/.test(pid) || isThere(`/proc/${pid}`)) continue;
    await removeMemoryFolder(`${PARENT}/${name}`);
  }
  const folder = `${PARENT}/${prefix}${process.pid}`;
  if (isThere(folder)) return undefined;
  try {
    await Deno.mkdir(folder);
    await Deno.chmod(folder, 0o1777);
    const program = `${folder}/try`;
    await Deno.writeTextFile(program, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    const { success } = await new Deno.Command(program).output();
    await Deno.remove(program);
    if (success) return folder;
  } catch {
    // Another place then.
  }
  await removeMemoryFolder(folder);
}

/** What somebody still has mounted in it stays. */
export async function removeMemoryFolder(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => {});
}

/** Three characters that tell the namespace of processes from others on this host. */
export function processNamespace(): string {
  const [, number = "0"] = /\[(\d+)\]/.exec(Deno.readLinkSync("/proc/self/ns/pid")) ?? [];
  return (Number(number) % 36 ** 3).toString(36);
}

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(PARENT);
    return Math.min(bavail * bsize, Deno.systemMemoryInfo().available) >= LEAST_BYTES;
  } catch {
    return false;
  }
}

function isThere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
