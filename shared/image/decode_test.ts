/** Images that take more memory than they say. */
import { encode } from "fast-png";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { crc32, deflateSync } from "node:zlib";
import { decodeImage, ImageError } from "./decode.ts";

function chunk(type: string, content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(12 + content.length);
  bytes.writeUInt32BE(content.length, 0);
  bytes.write(type, 4, "latin1");
  bytes.set(content, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + content.length)), 8 + content.length);
  return bytes;
}

/** An image of two by two gray pixels with other parts. */
function png(...parts: Buffer[]): Uint8Array {
  const signature = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
  const head = chunk("IHDR", Uint8Array.of(0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0));
  const end = chunk("IEND", new Uint8Array(0));
  return new Uint8Array(Buffer.concat([signature, head, ...parts, end]));
}

const pixels = chunk("IDAT", deflateSync(Uint8Array.of(0, 1, 2, 0, 3, 4)));

Deno.test("a PNG whose pixels inflate to more than its size is refused", async () => {
  const bomb = chunk("IDAT", deflateSync(new Uint8Array(64 * 2 ** 20)));
  await assert.rejects(decodeImage(png(bomb)), (error) => {
    return error instanceof ImageError && /more pixels than it says/.test(error.message);
  });
});

Deno.test("texts and colour profiles of a PNG are not inflated", async () => {
  const name = Uint8Array.of(0x61, 0, 0);
  const profile = chunk("iCCP", Buffer.concat([name, Uint8Array.of(1, 2, 3)]));
  const { rgb } = await decodeImage(png(profile, pixels));
  assert.deepEqual([...rgb], [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
});

Deno.test("a PNG of 16 bits with transparency is read", async () => {
  const data = Uint16Array.of(65_535, 0, 257, 65_535, 0, 0, 0, 0);
  const bytes = encode({ width: 2, height: 1, data, channels: 4, depth: 16 });
  const { rgb } = await decodeImage(bytes);
  assert.deepEqual([...rgb], [255, 0, 1, 0, 0, 0]);
});
