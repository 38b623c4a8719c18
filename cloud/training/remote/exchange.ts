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
  /** Of the script's distribution. */
  readonly scriptFolder: string;
  readonly datasetFolder: string;
  /** Empty. */
  readonly outputFolder: string;
  /** Most bytes of the packed model. */
  readonly modelBytes: number;
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

const SCRIPT = "script.tar.gz";
const DATASET = "dataset.tar.gz";
const MODEL = "model.tar.gz";

interface OpenRun extends ExchangedRun {
  /** A model is coming: the next one has to wait. */
  isReceiving: boolean;
  hasModel: boolean;
  readonly closed: AbortController;
}

/**
 * Files that runs on other computers get and send, over HTTP, with the key of their job: nobody else
 * reads them, and a run that is over reads and sends nothing more.
 */
export class RunExchange {
  readonly #runs = new Map<string, OpenRun>();

  constructor(private readonly log: Logger) {}

  /** Lets a run get its files until it is closed. */
  open(run: ExchangedRun): { hasModel(): boolean; close(): void } {
    const opened: OpenRun = {
      ...run,
      isReceiving: false,
      hasModel: false,
      closed: new AbortController(),
    };
    this.#runs.set(run.jobId, opened);
    return {
      hasModel: () => opened.hasModel,
      close: () => {
        opened.closed.abort(new Error("the run is over"));
        if (this.#runs.get(run.jobId) === opened) this.#runs.delete(run.jobId);
      },
    };
  }

  async answer(request: ExchangeRequest, http: HttpCallers): Promise<Response> {
    const access = await http.accessOf(request);
    if (access.kind === "refused") return refusal(access.status, access.error);
    if (access.kind !== "scope") return refusal(401, HOW_TO_SIGN_IN);
    if (access.scope.caller.training?.jobId !== request.jobId) {
      return refusal(403, "only the key of this training job opens its files");
    }
    const run = this.#runs.get(request.jobId);
    if (!run) return refusal(409, "this training job does not run now");
    const { method, file } = request;
    if (method === "PUT" && file === MODEL) return await this.#receive(run, request.body);
    if (method !== "GET") return refusal(405, `${file} cannot be sent; ${MODEL} can, with PUT`);
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
      const { unpack } = await import("../../../shared/transfer/archive/unpack.ts");
      await emptyFolder(run.outputFolder);
      const space = new DiskSpace(DISK_FLOOR_BYTES);
      await unpack({ archive, into: run.outputFolder, space, signal });
      run.hasModel = true;
      return answered();
    } catch (error) {
      await emptyFolder(run.outputFolder).catch(() => {});
      if (signal.aborted) return refusal(409, "this training job does not run now");
      if (error instanceof TooLargeError) return refusal(413, error.message);
      if (error instanceof TransferError && error.kind === "refused") {
        return refusal(400, `the model cannot be used: ${error.message}`);
      }
      this.log.error("cannot take the model of a training run", {
        job: run.jobId,
        error: String(error),
      });
      return refusal(500, "the cloud cannot store the model; its log says why");
    } finally {
      run.isReceiving = false;
      await Deno.remove(archive).catch(() => {});
    }
  }
}

class TooLargeError extends Error {}

/** Counts bytes, and ends a stream that has more than are allowed. */
class Room {
  #left: number;

  constructor(private readonly bytes: number) {
    this.#left = bytes;
  }

  counted(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
    return new TransformStream({
      transform: (piece, controller) => {
        this.#left -= piece.length;
        if (this.#left < 0) {
          throw new TooLargeError(
            `the packed model has more than ${this.bytes} bytes, the limit of this cloud`,
          );
        }
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

function answered(): Response {
  return Response.json({ ok: true });
}
