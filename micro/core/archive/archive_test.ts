import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { constants, deflateRawSync, gzipSync } from "node:zlib";
import { tarGzOf } from "../../../shared/transfer/archive/testing.ts";
import { concat } from "../bytes/bytes.ts";
import { FirstFile } from "./first_file.ts";
import { Gunzip } from "./inflate.ts";

function unzipped(bytes: Uint8Array, piece: number): Uint8Array {
  const parts: Uint8Array[] = [];
  const gunzip = new Gunzip((part) => parts.push(part));
  for (let at = 0; at < bytes.length; at += piece) gunzip.push(bytes.slice(at, at + piece));
  assert.ok(gunzip.done, "the end was not seen");
  return concat(parts);
}

/** Text with matches near and far, and noise. */
function sample(size: number): Uint8Array {
  const noise = randomBytes(size);
  return Uint8Array.from(noise, (byte, i) => i % 5 === 0 ? byte : (i * i >> 7) & 255);
}

Deno.test("Gunzip gives what was compressed, however it was and in whatever pieces it comes", () => {
  const texts = [new Uint8Array(0), new Uint8Array(100_000), sample(10), sample(90_000)];
  const ways = [
    { level: 0 },
    { level: 1 },
    { level: 9 },
    { strategy: constants.Z_FIXED },
    { strategy: constants.Z_HUFFMAN_ONLY },
    { strategy: constants.Z_RLE },
  ];
  for (const text of texts) {
    for (const way of ways) {
      const zipped = new Uint8Array(gzipSync(text, way));
      for (const piece of text.length > 100 ? [4096, 1e9] : [1, 2, 3, 4096]) {
        assert.deepEqual(unzipped(zipped, piece), text, `${JSON.stringify(way)} by ${piece}`);
      }
    }
  }
});

Deno.test("Gunzip skips name, comment, extra field and sum of the header", () => {
  const head = [0x1f, 0x8b, 8, 31, 0, 0, 0, 0, 0, 3, 2, 0, 9, 9, 65, 0, 66, 67, 0, 7, 7];
  const text = sample(1000);
  const zipped = concat([Uint8Array.from(head), new Uint8Array(deflateRawSync(text))]);
  for (const piece of [1, 7, 1e9]) assert.deepEqual(unzipped(zipped, piece), text);
});

Deno.test("Gunzip ends at what is damaged, and gives no more than its window at once", () => {
  const zipped = new Uint8Array(gzipSync(sample(50_000)));
  let damages = 0;
  for (let seed = 0; seed < 200; seed++) {
    const broken = zipped.slice();
    const at = seed * 97 % broken.length;
    broken[at] = (broken[at] ?? 0) ^ 1 << seed % 8;
    const gunzip = new Gunzip((part) => assert.ok(part.length <= 32 * 1024));
    try {
      gunzip.push(broken);
    } catch (error) {
      assert.match(String(error), /the archive is damaged/);
      damages++;
    }
  }
  // Most changes make other bytes of it, which only a sum shows.
  assert.ok(damages > 0);
  assert.throws(() => new Gunzip(() => {}).push(new Uint8Array(20)), /damaged/);
});

Deno.test("FirstFile gives the first file of an archive, and nothing after it", () => {
  const content = sample(70_001);
  const archive = tarGzOf([
    { path: "folder", type: "Directory" },
    { path: `folder/${"long".repeat(60)}`, content },
    { path: "other", content: sample(10) },
  ]);
  for (const piece of [1, 511, 100_000]) {
    const parts: Uint8Array[] = [];
    const sizes: number[] = [];
    const file = new FirstFile({
      onStart: (size) => sizes.push(size),
      onBytes: (bytes) => parts.push(bytes.slice()),
    });
    const gunzip = new Gunzip((bytes) => file.push(bytes));
    const bytes = archive;
    for (let at = 0; at < bytes.length; at += piece) gunzip.push(bytes.slice(at, at + piece));
    assert.deepEqual(sizes, [content.length]);
    assert.ok(file.done);
    assert.deepEqual(concat(parts), content);
  }
  const none = new FirstFile({ onStart: () => assert.fail(), onBytes: () => assert.fail() });
  assert.throws(() => none.push(new Uint8Array(512)), /no file in it/);
});
