/** Buffers below this are not worth it, and parts of shared ones are no larger. Bytes. */
const LEAST_BYTES = 16 * 1024;

/**
 * Gives the memory of bytes back at once that nobody reads any more. The collector sees only their
 * small handles, and would let hundreds of large ones pile up first. Bytes that share a buffer with
 * others keep it.
 *
 * @param others how many bytes of the buffer may be others': the rest of the message they came in,
 * where that is read already.
 */
export function releaseBuffer({ buffer, byteLength }: Uint8Array, others = 0): void {
  if (!(buffer instanceof ArrayBuffer) || byteLength < LEAST_BYTES) return;
  if (buffer.byteLength <= byteLength + others) buffer.transfer(0);
}
