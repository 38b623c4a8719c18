import { join } from "node:path";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import { TransferError } from "../../../shared/transfer/download/transfer_error.ts";
import { HOW_TO_SIGN_IN, type HttpCallers } from "../../accounts/access/http_callers.ts";
import { refusal } from "../../storage/blobs/blob_answer.ts";
import { DISK_FLOOR_BYTES } from "../runs/limits.ts";
import { tarGz } from "../packing/tar_gz.ts";

/** What one run reads, and where its model goes. Folders of this host. */
export interface ExchangedRun {
  readonly jobId: string;
  /** Of the key of this attempt, which no other has. */
  readonly keyId: string;
  /** Of the script's distribution. */
  readonly scriptFolder: string;
  readonly datasetFolder: string;
  /** Empty. */
  readonly outputFolder: string;
  /** Most bytes of the packed model. */
  readonly modelBytes: number;
}

/** A run whose files can be had. */
export interface OpenedRun {
  /** Where its files are, by name; empty: below `/training-runs/JOB/` of the cloud. */
  readonly addresses: Readonly<Record<string, string>>;
  /**
   * Whether a model came; it is in the folder of its output then.
   *
   * @throws {RunFailedError} for one that cannot be used
   */
  hasModel(): Promise<boolean>;
  /** Nothing is read or sent any more. Never rejects. */
  close(): Promise<void>;
}

/** Through which runs on other hosts get their files, and send what they make. */
export interface Exchange {
  /**
   * Lets a run get its files until it is closed, for so long at most.
   *
   * @param milliseconds how long
   * @throws what the storage of the files says
   */
  open(run: ExchangedRun, milliseconds: number, signal: AbortSignal): Promise<OpenedRun>;
  answer(request: ExchangeRequest, http: HttpCallers): Promise<Response>;
}

/** A request below `/training-runs/JOB/`. */
export interface ExchangeRequest {
  readonly jobId: string;
  readonly file: string;
  readonly method: string;
  readonly header: (name: string) => string | undefined;
  readonly peer: Peer;
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
}

export const SCRIPT = "script.tar.gz";
export const DATASET = "dataset.tar.gz";
const MODEL = "model.tar.gz";

interface OpenRun extends ExchangedRun {
  /** A model is coming: the next one has to wait. */
  isReceiving: boolean;
  hasModel: boolean;
  readonly closed: AbortController;
}

/**
 * Files that runs on other hosts get and send, over HTTP, with the key of their job: nobody else
 * reads them, and a run that is over reads and sends nothing more.
 */
export class RunExchange implements Exchange {
  readonly #runs = new Map<string, OpenRun>();

  constructor(private readonly log: Logger) {}

  open(run: ExchangedRun): Promise<OpenedRun> {
    const opened: OpenRun = {
      ...run,
      isReceiving: false,
      hasModel: false,
      closed: new AbortController(),
    };
    this.#runs.set(run.jobId, opened);
    return Promise.resolve({
      addresses: {},
      hasModel: () => Promise.resolve(opened.hasModel),
      close: () => {
        opened.closed.abort(new Error("the run is over"));
        if (this.#runs.get(run.jobId) === opened) this.#runs.delete(run.jobId);
        return Promise.resolve();
      },
    });
  }

  async answer(request: ExchangeRequest, http: HttpCallers): Promise<Response> {
    const access = await keyOf(request, http);
    if (access instanceof Response) return access;
    const run = this.#runs.get(request.jobId);
    if (!run) return refusal(409, "this training job does not run now");
    const { file } = request;
    if (isModel(request)) return await this.#receive(run, request.body);
    if (request.method !== "GET") return notSent(file);
    if (file === SCRIPT) return packed(run.scriptFolder, run.closed.signal);
    if (file === DATASET) return packed(run.datasetFolder, run.closed.signal);
    return refusal(404, `there are ${SCRIPT} and ${DATASET}`);
  }

  async #receive(
    run: OpenRun,
    body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  ): Promise<Response> {
    if (!body) return refusal(400, "the model is missing");
    if (run.isReceiving) return refusal(503, "this model is being received already");
    if (run.hasModel) return answered();
    run.isReceiving = true;
    const archive = `${run.outputFolder}.tar.gz`;
    const { signal } = run.closed;
    try {
      const room = new Room(run.modelBytes);
      await Deno.writeFile(archive, body.pipeThrough(room.counted()), { mode: 0o600, signal });
      faultPoint("training.model.received");
      await unpackModel(archive, run.outputFolder, signal);
      run.hasModel = true;
      return answered();
    } catch (error) {
      await emptyFolder(run.outputFolder).catch(() => {});
      if (signal.aborted) return refusal(409, "this training job does not run now");
      if (error instanceof TooLargeError) return tooLarge(run.modelBytes);
      if (error instanceof TransferError && error.kind === "refused") {
        return refusal(400, `the model cannot be used: ${error.message}`);
      }
      return notStored(run.jobId, error, this.log);
    } finally {
      run.isReceiving = false;
      await Deno.remove(archive).catch(() => {});
    }
  }
}

/** The id of the key of a job, or why its files are not for the caller. */
export async function keyOf(
  request: ExchangeRequest,
  http: HttpCallers,
): Promise<{ readonly keyId: string } | Response> {
  const access = await http.accessOf(request);
  if (access.kind === "refused") return refusal(access.status, access.error);
  if (access.kind !== "scope") return refusal(401, HOW_TO_SIGN_IN);
  const { training, actor } = access.scope.caller;
  if (training?.jobId === request.jobId) return { keyId: actor.id };
  return refusal(403, "only the key of this training job opens its files");
}

export function isModel({ method, file }: ExchangeRequest): boolean {
  return method === "PUT" && file === MODEL;
}

export function notSent(file: string): Response {
  return refusal(405, `${file} cannot be sent; ${MODEL} can, with PUT`);
}

export function tooLarge(bytes: number): Response {
  return refusal(413, `the packed model has more than ${bytes} bytes, the limit of this cloud`);
}

export function notStored(job: string, error: unknown, log: Pick<Logger, "error">): Response {
  log.error("cannot take the model of a training run", {
    event: "training_failed",
    job,
    error: String(error),
  });
  return refusal(500, "the cloud cannot store the model; its log says why");
}

/** @throws {TransferError}, {FileError}; a part of it may be there then */
export async function unpackModel(
  archive: string,
  into: string,
  signal: AbortSignal,
): Promise<void> {
  const { unpack } = await import("../../../shared/transfer/archive/unpack.ts");
  await emptyFolder(into);
  await unpack({ archive, into, space: new DiskSpace(DISK_FLOOR_BYTES), signal });
}

class TooLargeError extends Error {}

/** Counts bytes, and ends a stream that has more than are allowed. */
class Room {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  counted(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
    return new TransformStream({
      transform: (piece, controller) => {
        this.#left -= piece.length;
        if (this.#left < 0) throw new TooLargeError();
        controller.enqueue(piece);
      },
    });
  }
}

async function emptyFolder(folder: string): Promise<void> {
  for await (const { name } of Deno.readDir(folder)) {
    await Deno.remove(join(folder, name), { recursive: true });
  }
}

function packed(folder: string, signal: AbortSignal): Response {
  const pieces = tarGz(folder, () => false);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (signal.aborted) return controller.error(signal.reason);
      const { value, done } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return(undefined);
    },
  }, { highWaterMark: 1 });
  return new Response(body, {
    headers: { "content-type": "application/gzip", "cache-control": "no-store" },
  });
}

export function answered(): Response {
  return Response.json({ ok: true });
}
