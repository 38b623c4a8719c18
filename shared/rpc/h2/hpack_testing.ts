import type { HeaderList } from "./fields.ts";
import { writeHeader } from "./hpack.ts";

/** A block that the peer's decoder needs no table for. Names have to be in lower case. */
export function encodeHeaders(headers: HeaderList): Uint8Array {
  let size = 0;
  for (const text of headers) size += text.length + 6;
  const out = new Uint8Array(size);
  let at = 0;
  for (let n = 0; n < headers.length; n += 2) at = writeHeader(out, at, 0, headers, n);
  return out.subarray(0, at);
}
