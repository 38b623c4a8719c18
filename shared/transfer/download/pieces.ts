/** Most bytes of a piece. */
export const PIECE_BYTES = 64 * 1024;

/**
 * The bytes of a body, piece by piece. A piece is good until the next one is requested: all of them
 * come in the same memory, so that a large body leaves no garbage. The body is not cancelled.
 *
 * @param signal ends it with its reason, and the body. The one that `fetch` was given does so only
 * as long as somebody holds the Response: Deno 2.9.6 collects the tie between them.
 */
export async function* pieces(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (!body) return;
  const reader = body.getReader({ mode: "byob" });
  const end = () => void reader.cancel(signal?.reason).catch(() => undefined);
  signal?.addEventListener("abort", end, { once: true });
  try {
    signal?.throwIfAborted();
    let memory = new ArrayBuffer(PIECE_BYTES);
    while (true) {
      const { value, done } = await reader.read(new Uint8Array(memory));
      signal?.throwIfAborted();
      if (done || !value) return;
      yield value;
      memory = value.buffer;
    }
  } finally {
    signal?.removeEventListener("abort", end);
    reader.releaseLock();
  }
}
