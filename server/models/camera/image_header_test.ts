import assert from "node:assert/strict";
import { ImageError, readImageHeader } from "./image_header.ts";
import { jpegBytes, pngBytes } from "./testing.ts";

Deno.test("readImageHeader() reads kind and size of PNG and JPEG", () => {
  assert.deepEqual(readImageHeader(pngBytes(640, 70_000), "x"), {
    mimeType: "image/png",
    width: 640,
    height: 70_000,
  });
  assert.deepEqual(readImageHeader(jpegBytes(1920, 1080), "x"), {
    mimeType: "image/jpeg",
    width: 1920,
    height: 1080,
  });
});

Deno.test("readImageHeader() reads a view that does not start at the buffer's beginning", () => {
  const whole = new Uint8Array([...new Uint8Array(7), ...jpegBytes(3, 4)]);
  assert.equal(readImageHeader(whole.subarray(7), "x").height, 4);
});

Deno.test("readImageHeader() says whose bytes are no image, and what they are", () => {
  assert.throws(
    () => readImageHeader(new TextEncoder().encode("GIF89a"), "/a.gif"),
    new ImageError("/a.gif is neither JPEG nor PNG: its first bytes are 47 49 46 38"),
  );
  assert.throws(() => readImageHeader(new Uint8Array(), "/a.png"), /JPEG nor PNG: it is empty/);
});

Deno.test("readImageHeader() refuses what is cut short, wherever the cut is", () => {
  for (const image of [pngBytes(2, 2).subarray(0, 24), jpegBytes(2, 2).subarray(0, 23)]) {
    readImageHeader(image, "x");
    for (let length = 8; length < image.length; length++) {
      assert.throws(() => readImageHeader(image.subarray(0, length), "x"), /cut short or damaged/);
    }
  }
  const noFrame = new Uint8Array([0xff, 0xd8, 0xff, 0xda, 0, 2, 1, 1, 1, 1]);
  assert.throws(() => readImageHeader(noFrame, "x"), /cut short or damaged/);
});
