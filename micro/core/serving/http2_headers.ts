import { concat } from "../bytes/bytes.ts";
import { utf8 } from "../bytes/utf8.ts";

/** Headers as literals that no table keeps (RFC 7541, 6.2.2). */
export function headerBlock(fields: readonly (readonly [string, string])[]): Uint8Array {
  return concat(fields.flatMap(([name, value]) => [
    Uint8Array.of(0),
    ...[name, value].map((text) => {
      const bytes = utf8(text);
      return concat([hpackLength(bytes.length), bytes]);
    }),
  ]));
}

/** A length with a prefix of 7 bits (RFC 7541, 5.1), not compressed. */
function hpackLength(length: number): Uint8Array {
  if (length < 127) return Uint8Array.of(length);
  const bytes = [127];
  let rest = length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push(rest % 128 | 128);
  return Uint8Array.from([...bytes, rest]);
}
