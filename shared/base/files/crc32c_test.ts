import { equal } from "node:assert/strict";
import { Crc32c } from "./crc32c.ts";

const ascii = (text: string) => new TextEncoder().encode(text);

Deno.test("Crc32c gives the check values of the published vectors", () => {
  // RFC 3720, appendix B.4, and the check value of the CRC catalogue.
  const ascending = Uint8Array.from({ length: 32 }, (_, at) => at);
  const vectors: [bytes: Uint8Array, sum: number][] = [
    [new Uint8Array(), 0],
    [ascii("123456789"), 0xe3069283],
    [new Uint8Array(32), 0x8a9136aa],
    [new Uint8Array(32).fill(0xff), 0x62a8ab43],
    [ascending, 0x46dd794e],
    [ascending.toReversed(), 0x113fdb5c],
  ];
  for (const [bytes, sum] of vectors) equal(new Crc32c().update(bytes).value, sum);
});

Deno.test("Crc32c gives the same sum however the bytes are cut", () => {
  const bytes = Uint8Array.from({ length: 1000 }, (_, at) => at * 7 + (at >> 3));
  const whole = new Crc32c().update(bytes).value;
  for (const size of [1, 3, 7, 8, 9, 64, 999]) {
    const sum = new Crc32c();
    for (let at = 0; at < bytes.length; at += size) sum.update(bytes.subarray(at, at + size));
    equal(sum.value, whole, `pieces of ${size}`);
  }
});

Deno.test("Crc32c.toBase64() gives the bytes in the order of object stores", () => {
  equal(new Crc32c().update(ascii("123456789")).toBase64(), "4waSgw==");
});
