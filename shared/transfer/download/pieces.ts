/** Most bytes of a piece. */
export const PIECE_BYTES = 64 * 1024;

/**
 * The bytes of a body, piece by piece. A piece is good until the next one is requested: all of them
 * come in the same memory, so that a large body leaves no garbage. The body is not cancelled.
 */
export async function* pieces(
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (!body) return;
  const reader = body.getReader({ mode: "byob" });
  try {
    let memory = new ArrayBuffer(PIECE_BYTES);
    while (true) {
      const { value, done } = await reader.read(new Uint8Array(memory));
      if (done || !value) return;
      yield value;
      memory = value.buffer;
    }
  } finally {
    reader.releaseLock();
  }
}
