import { Code } from "@connectrpc/connect";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { TransferError } from "../../../shared/transfer/download/transfer_error.ts";
import type { HttpCallers } from "../../accounts/access/http_callers.ts";
import { refusal } from "../../storage/blobs/blob_answer.ts";
import { type BlobStore, BlobTooLargeError } from "../../storage/blobs/blob_store.ts";
import { tarGz } from "../packing/tar_gz.ts";
import { folderUsage } from "../runs/folder_size.ts";
import { RunFailedError } from "../runs/run_failure.ts";
import {
  answered,
  DATASET,
  type Exchange,
  type ExchangedRun,
  type ExchangeRequest,
  isModel,
  keyOf,
  notSent,
  notStored,
  type OpenedRun,
  SCRIPT,
  tooLarge,
  unpackModel,
} from "./exchange.ts";

/** Files that whoever has their address can get for a time. */
export interface AddressedBlobs extends BlobStore {
  /** @param seconds how long */
  addressOf(id: string, seconds: number): Promise<string>;
}

export interface StoredExchangeOptions {
  readonly blobs: AddressedBlobs;
  /** Most bytes of a packed model. */
  readonly modelBytes: number;
  readonly random: { uuid(): string };
  readonly log: Logger;
}

/** Addresses of S3 last a week at most. */
const LONGEST_SECONDS = 7 * 24 * 3600;

/**
 * The same for several nodes: script and dataset are in the object storage, at addresses that open
 * them without a key, as long as the run lasts at most. Any node takes the model, with the key of
 * the job, and puts it there under the key's id; the node that trains finds it when the run is over.
 */
export class StoredExchange implements Exchange {
  readonly #open = new Set<string>();
  readonly #receiving = new Set<string>();

  constructor(private readonly options: StoredExchangeOptions) {}

  async open(run: ExchangedRun, milliseconds: number, signal: AbortSignal): Promise<OpenedRun> {
    const { blobs, random } = this.options;
    const files = [[SCRIPT, run.scriptFolder], [DATASET, run.datasetFolder]] as const;
    const seconds = Math.min(LONGEST_SECONDS, Math.ceil(milliseconds / 1000));
    const addresses: Record<string, string> = {};
    const closed = linkedController(signal);
    const ids = [run.keyId];
    const close = async () => {
      closed.abort(new Error("the run is over"));
      for (const id of ids) {
        await blobs.remove(id);
        this.#open.delete(id);
      }
    };
    try {
      this.#open.add(run.keyId);
      for (const [name, folder] of files) {
        signal.throwIfAborted();
        const id = random.uuid();
        ids.push(id);
        this.#open.add(id);
        const pieces = until(signal, tarGz(folder, () => false));
        await blobs.receive(id, pieces, await mostPacked(folder));
        addresses[name] = await blobs.addressOf(id, seconds);
      }
      signal.throwIfAborted();
    } catch (error) {
      await close();
      throw error;
    }
    return { addresses, hasModel: () => this.#take(run, closed.signal), close };
  }

  async answer(request: ExchangeRequest, http: HttpCallers): Promise<Response> {
    const key = await keyOf(request, http);
    if (key instanceof Response) return key;
    const { jobId, file, body } = request;
    if (isModel(request)) return await this.#receive(jobId, key.keyId, body);
    if (request.method !== "GET") return notSent(file);
    return refusal(404, "the files of this run are at the addresses that it was given");
  }

  /** What killed nodes left is removed; the key of a run that continues is known. */
  async sweep(isRunning: (keyId: string) => Promise<boolean>, now: Date): Promise<number> {
    return await this.options.blobs.sweep(
      async (id) => this.#open.has(id) || await isRunning(id),
      now,
    );
  }

  async #receive(
    jobId: string,
    keyId: string,
    body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  ): Promise<Response> {
    if (!body) return refusal(400, "the model is missing");
    if (this.#receiving.has(keyId)) return refusal(503, "this model is being received already");
    const { blobs, modelBytes, log } = this.options;
    this.#receiving.add(keyId);
    try {
      await blobs.receive(keyId, body, modelBytes);
      return answered();
    } catch (error) {
      if (error instanceof BlobTooLargeError) return tooLarge(modelBytes);
      return notStored(jobId, error, log);
    } finally {
      this.#receiving.delete(keyId);
    }
  }

  async #take({ keyId, outputFolder }: ExchangedRun, signal: AbortSignal): Promise<boolean> {
    const blob = await this.options.blobs.read(keyId);
    if (!blob) return false;
    const archive = `${outputFolder}.tar.gz`;
    try {
      await Deno.writeFile(archive, blob.readable, { mode: 0o600, signal });
      await unpackModel(archive, outputFolder, signal);
      return true;
    } catch (error) {
      if (!(error instanceof TransferError) || error.kind !== "refused") throw error;
      throw new RunFailedError(
        Code.FailedPrecondition,
        `the model cannot be used: ${error.message}`,
      );
    } finally {
      await Deno.remove(archive).catch(() => {});
    }
  }
}

/** What comes, until the signal aborts: a large dataset is not sent to its end for nobody. */
async function* until(
  signal: AbortSignal,
  pieces: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) {
    signal.throwIfAborted();
    yield piece;
  }
}

/** Bytes that a folder takes at most when it is packed: with what a tar archive says of each file. */
async function mostPacked(folder: string): Promise<number> {
  const { bytes, files } = await folderUsage([folder]);
  return Math.ceil(bytes * 1.01) + files * 4_096 + 1_048_576;
}
