import { join } from "node:path";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";

/** Folder of all runs, in the cloud's. */
export const TRAINING_FOLDER = "training";

/** Where one run works. */
export interface JobFolder {
  readonly dataset: string;
  /** What lies here at the end is the model. */
  readonly output: string;
}

/** The folders of runs: `JOB/dataset` and `JOB/output`, for the cloud's user only. */
export class JobFolders {
  /** @param root made with the first run */
  constructor(private readonly root: string) {}

  /** Makes an empty folder for a run. @throws {FileError} */
  async make(jobId: string): Promise<JobFolder> {
    await this.remove(jobId);
    const path = join(this.root, jobId);
    const folder = { dataset: join(path, "dataset"), output: join(path, "output") };
    try {
      await Deno.mkdir(folder.dataset, { recursive: true, mode: 0o700 });
      await Deno.mkdir(folder.output, { mode: 0o700 });
    } catch (error) {
      throw toFileError(error, "create the folder of a training job", path);
    }
    return folder;
  }

  /** Removes the folder of a run with everything in it. @throws {FileError} */
  async remove(jobId: string): Promise<void> {
    const path = join(this.root, jobId);
    try {
      await Deno.remove(path, { recursive: true });
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return;
      // A script may have taken the rights away from its own folders.
      await giveRights(path);
      try {
        await Deno.remove(path, { recursive: true });
      } catch (again) {
        if (fsErrorCode(again) === "ENOENT") return;
        throw toFileError(again, "remove the folder of a training job", path);
      }
    }
  }

  /** Ids of the jobs that have a folder. */
  async left(): Promise<string[]> {
    const ids: string[] = [];
    try {
      for await (const entry of Deno.readDir(this.root)) {
        if (entry.isDirectory) ids.push(entry.name);
      }
    } catch (error) {
      if (fsErrorCode(error) !== "ENOENT") {
        throw toFileError(error, "read the folder of training jobs", this.root);
      }
    }
    return ids;
  }
}

async function giveRights(folder: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  try {
    await Deno.chmod(folder, 0o700);
    for await (const entry of Deno.readDir(folder)) {
      if (entry.isDirectory) await giveRights(join(folder, entry.name));
    }
  } catch {
    // Removing it says what is wrong.
  }
}
