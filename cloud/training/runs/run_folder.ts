import { join } from "node:path";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import { newTreeMark } from "../../../shared/base/process/system_processes.ts";
import type { RunPlaces } from "./run_environment.ts";

/** The runner's own folder for one run: home, temporary files, and the mark of its processes. */
export interface RunFolder extends RunPlaces {
  readonly path: string;
  /** Empty: the root of what it sees. */
  readonly root: string;
  /** What it sees as `/dev/shm`; like all else of it, it counts as disk. */
  readonly shared: string;
  /** Mark of everything that the run starts; on the disk before anything is started. */
  readonly tree: string;
  /** Removes it. @throws {FileError} */
  remove(): Promise<void>;
}

const MARK_FILE = "run.json";
const TREE = /^[0-9a-f]{8,64}$/;
/** Between TERM and KILL for what an earlier cloud left running. */
const STRAY_GRACE_MS = 1_000;

/** The folders of the runs of one cloud. */
export class RunFolders {
  /** @param root made with the first run. */
  constructor(private readonly root: string) {}

  /** Makes a folder of its own for a run. @throws {FileError} */
  async make(name: string): Promise<RunFolder> {
    const path = join(this.root, `${name}-${crypto.randomUUID().slice(0, 8)}`);
    const folder = {
      home: join(path, "home"),
      temporary: join(path, "tmp"),
      root: join(path, "root"),
      shared: join(path, "shm"),
    };
    const tree = newTreeMark();
    try {
      await Deno.mkdir(folder.home, { recursive: true, mode: 0o700 });
      for (const each of [folder.temporary, folder.root, folder.shared]) {
        await Deno.mkdir(each, { mode: 0o700 });
      }
      await writeFileAtomic(join(path, MARK_FILE), JSON.stringify({ tree }));
    } catch (error) {
      throw toFileError(error, "create the folder of a training run", path);
    }
    return { ...folder, path, tree, remove: () => removeFolder(path) };
  }

  /**
   * Ends what runs of an earlier process of this cloud left running and removes their folders.
   *
   * @returns how many processes were killed.
   */
  async recover(processes: ProcessRunner): Promise<number> {
    let ended = 0;
    for (const name of await namesIn(this.root)) {
      const path = join(this.root, name);
      const tree = await markIn(path);
      if (tree !== undefined) {
        const mark = { pid: 0, started: "", tree };
        ended += await processes.endStray(mark, { graceMs: STRAY_GRACE_MS });
      }
      await removeFolder(path);
    }
    return ended;
  }
}

async function markIn(path: string): Promise<string | undefined> {
  try {
    const { tree } = JSON.parse(await readIfExists(join(path, MARK_FILE)) ?? "{}");
    return typeof tree === "string" && TREE.test(tree) ? tree : undefined;
  } catch {
    return undefined; // made by a process that was killed before it started anything
  }
}

/** Names of what lies in a folder; none when it is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  try {
    return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name);
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return [];
    throw toFileError(error, "read the folder", folder);
  }
}

/** Removes a folder and what is in it, also where a script took rights away. @throws {FileError} */
export async function removeFolder(path: string): Promise<void> {
  for (const isLast of [false, true]) {
    try {
      await Deno.remove(path, { recursive: true });
      return;
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return;
      if (isLast) throw toFileError(error, "remove the folder", path);
      await giveRights(path);
    }
  }
}

async function giveRights(folder: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  await Deno.chmod(folder, 0o700).catch(() => {});
  const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
  for (const { name, isDirectory } of entries) {
    if (isDirectory) await giveRights(join(folder, name));
  }
}
