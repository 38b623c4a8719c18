/** Writes all of the bytes: one `write` may take a part only. */
export async function writeAll(
  to: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array,
): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += await to.write(bytes.subarray(written));
  }
}
