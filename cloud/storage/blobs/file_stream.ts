import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { BlobReader } from "./blob_store.ts";

const CHUNK = 64 * 1024;
/** A caller that takes nothing for so long is disconnected. Milliseconds. */
const SILENCE_MS = 5 * 60_000;

/**
 * Some bytes of a file as a stream that reads as it is read. Closes the file, however it ends, and
 * calls `onEnd` then.
 */
export async function streamFile(
  file: BlobReader,
  { start, length, onEnd }: {
    readonly start: number;
    readonly length: number;
    readonly onEnd?: () => void;
  },
  clock: Clock,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  if (start > 0) await file.seek(start, Deno.SeekMode.Start);
  let left = length;
  let silence: Timer | undefined;
  let closed = false;
  const close = () => {
    silence?.cancel();
    if (closed) return;
    closed = true;
    file.close();
    onEnd?.();
  };
  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      silence?.cancel();
      const chunk = new Uint8Array(Math.min(CHUNK, left));
      const count = left === 0 ? 0 : await file.read(chunk).catch((error) => {
        close();
        throw error;
      });
      if (count === null) {
        close();
        return controller.error(new Error("the file is shorter than it was"));
      }
      left -= count;
      if (count > 0) controller.enqueue(chunk.subarray(0, count));
      if (left === 0) {
        close();
        return controller.close();
      }
      silence = clock.setTimer(SILENCE_MS, () => {
        close();
        controller.error(new Error("the caller takes nothing"));
      });
    },
    cancel: close,
  }, { highWaterMark: 0 });
}
