import type { Clock, Timer } from "../../../shared/base/time/clock.ts";

/** A caller that takes nothing for so long is disconnected. Milliseconds. */
const SILENCE_MS = 5 * 60_000;

/**
 * Pieces as the body of an answer, made as the caller takes them. The first piece is made before
 * this resolves: what goes wrong by then can still be reported with a status.
 *
 * @param onEnd called once, however it ends.
 */
export async function byteStream(
  pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>,
  { clock, onEnd }: { readonly clock: Clock; readonly onEnd: () => void },
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  let first: IteratorResult<Uint8Array<ArrayBuffer>> | undefined = await pieces.next();
  let silence: Timer | undefined;
  let hasEnded = false;
  const end = () => {
    silence?.cancel();
    if (!hasEnded) onEnd();
    hasEnded = true;
  };
  return new ReadableStream({
    async pull(controller) {
      silence?.cancel();
      try {
        const { done, value } = first ?? await pieces.next();
        first = undefined;
        if (done) {
          end();
          return controller.close();
        }
        controller.enqueue(value);
      } catch (error) {
        end();
        return controller.error(error);
      }
      silence = clock.setTimer(SILENCE_MS, () => {
        end();
        void pieces.return(undefined);
        controller.error(new Error("the caller takes nothing"));
      });
    },
    async cancel() {
      end();
      await pieces.return(undefined);
    },
  }, { highWaterMark: 0 });
}
