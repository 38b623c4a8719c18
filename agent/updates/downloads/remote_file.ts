/** A version that lies on a server: `https://…` or `http://…`. */
import { executableProblem, HEADER_BYTES } from "./executable.ts";
import { validatorOf } from "../../../shared/transfer/download/answer.ts";
import type { BegunDownload, Downloaded } from "../../../shared/transfer/download/download.ts";
import type { DiskSpace } from "../../../shared/transfer/download/disk_space.ts";
import type { HttpRequests } from "../../../shared/transfer/download/http_requests.ts";
import { TransferError } from "../../../shared/transfer/download/transfer_error.ts";
import type { TransferLimits } from "../../../shared/transfer/download/watchdog.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import type { WantedFile } from "./wanted_file.ts";

/** Longest wait for the answer whether a file has changed. Milliseconds. */
const LOOK_MS = 15_000;

export interface RemoteDownload {
  readonly requests: HttpRequests;
  readonly wanted: WantedFile;
  readonly part: string;
  readonly begun: BegunDownload | undefined;
  readonly onBegin: (begun: BegunDownload) => void;
  readonly onProgress: (bytes: number, totalBytes: number) => void;
  readonly pace: (bytes: number, signal: AbortSignal) => Promise<void>;
  readonly platform: string;
  readonly space: DiskSpace;
  readonly limits: TransferLimits;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Fetches a program.
 *
 * @throws {TransferError} the signal's reason when aborted.
 */
export async function downloadRemote(
  { wanted, platform, ...options }: RemoteDownload,
): Promise<Downloaded> {
  // A machine downloads rarely; until then it does not pay for the code.
  const { download } = await import("../../../shared/transfer/download/download.ts");
  const downloaded = await download({
    ...options,
    url: wanted.url,
    what: "release",
    announced: wanted.sha256 ? { sha256: wanted.sha256 } : {},
    size: wanted.size,
    needsChecksum: false,
  });
  const problem = executableProblem(await headerOf(options.part), platform);
  if (problem === undefined) return downloaded;
  throw new TransferError("refused", `what came cannot be used: ${problem}`);
}

/**
 * The state in which the server has the file now; undefined when that cannot be determined.
 *
 * @throws the signal's reason when aborted.
 */
export async function remoteState(
  requests: HttpRequests,
  url: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  const ask = async (inner: AbortSignal) => {
    const response = await requests.send("HEAD", url, {}, inner);
    await response.body?.cancel();
    return response.status === 200 ? validatorOf(response.headers) : undefined;
  };
  try {
    const what = "the answer whether the version has changed";
    return await withDeadline(ask, { clock, deadlineMs: LOOK_MS, what, signal });
  } catch {
    signal.throwIfAborted();
    return undefined; // what is here is good enough until the server answers
  }
}

async function headerOf(path: string): Promise<Uint8Array> {
  using file = await Deno.open(path, { read: true });
  const header = new Uint8Array(HEADER_BYTES);
  const count = await file.read(header) ?? 0;
  return header.subarray(0, count);
}
