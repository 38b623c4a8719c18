/** Brings files of full-time data capture to the cloud, one after the other, when they are complete. */
import { join } from "node:path";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { fileAt } from "../../data/capture_folder.ts";
import type { DataCloud } from "../../data/data_cloud.ts";
import { uploadFile } from "../../data/upload.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { captureFilesIn } from "./files.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export interface FtdcUploadsOptions {
  /** Where capture writes. */
  readonly folder: string;
  readonly cloud: DataCloud;
  readonly clock: Clock;
  /** `rdk.ftdc` */
  readonly log: Logger;
  /** Numbers in [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** Tag that files have in the cloud. */
const FTDC_TAG = "ftdc";
/** How often the folder is looked through: a file takes hours to be full. Milliseconds. */
const LOOK_EVERY_MS = 60_000;
const RETRY_MIN_MS = 60_000;
const RETRY_MAX_MS = 3_600_000;
/** Names of the files that the cloud has, a line each. */
const LIST = "uploaded";

/** Deletes nothing: the files go when capture needs their place, whether the cloud has them or not. */
export class FtdcUploads {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(private readonly options: FtdcUploadsOptions) {
    this.#running = this.#run(this.#stop.signal);
  }

  /** Breaks an upload off; the next start sends that file again. */
  async close(): Promise<void> {
    this.#stop.abort(new Error("the server is shutting down"));
    await this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log, random } = this.options;
    const backoff = new Backoff({
      minMs: RETRY_MIN_MS,
      maxMs: RETRY_MAX_MS,
      ...(random && { random }),
    });
    let isFailing = false;
    const turn = async () => {
      try {
        await this.#uploadAll(signal);
        if (isFailing) log.info("diagnostics are uploaded again");
        isFailing = false;
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        if (!isFailing) {
          log.warn(`diagnostics are not uploaded: ${reasonOf(toError(error))}; retrying`);
        }
        isFailing = true;
        return LOOK_EVERY_MS + backoff.next();
      }
    };
    await pollLoop(turn, { clock, intervalMs: LOOK_EVERY_MS }, signal);
  }

  async #uploadAll(signal: AbortSignal): Promise<void> {
    const { folder, cloud, log } = this.options;
    const names = await captureFilesIn(folder);
    const done = new Set((await readIfExists(join(folder, LIST)))?.split("\n"));
    // The newest one is being written.
    for (const name of names.slice(0, -1)) {
      signal.throwIfAborted();
      if (done.has(name)) continue;
      const file = await fileAt(join(folder, name));
      // Capture needed its place.
      if (!file) continue;
      await uploadFile(file, cloud, { tags: [FTDC_TAG], datasetIds: [] }, signal);
      done.add(name);
      const kept = names.filter((one) => done.has(one));
      await writeFileAtomic(join(folder, LIST), `${kept.join("\n")}\n`);
      log.debug("diagnostics uploaded", { file: name });
    }
  }
}
