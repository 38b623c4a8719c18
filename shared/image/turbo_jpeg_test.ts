import assert from "node:assert/strict";
import { decodeImage, ImageError } from "./decode.ts";
import { encodeJpeg } from "./encode.ts";
import { TurboJpeg } from "./turbo_jpeg.ts";

const LIMITS = { mostPixels: 1_000_000, scans: 1 };

/** A soft image, of a size that is no multiple of a block's. */
async function softImage() {
  const [width, height] = [203, 101];
  const rgb = Uint8Array.from(
    { length: width * height * 3 },
    (_, index) => 128 + 100 * Math.sin(index / 3 / width / 9 + index % 3),
  );
  return { width, height, rgb, bytes: await encodeJpeg({ width, height, rgb }) };
}

Deno.test("TurboJpeg decodes to what was encoded, also after images that it leaves to others", async () => {
  const { width, height, rgb, bytes } = await softImage();
  const turbo = await TurboJpeg.load();
  assert.equal(turbo.decode(bytes.subarray(0, bytes.length / 2), LIMITS), undefined);
  const half = bytes.subarray(0, bytes.length / 2);
  assert.equal(turbo.decode(half, { ...LIMITS, scans: 100 }), undefined);
  assert.equal(turbo.decode(Uint8Array.of(0xff, 0xd8, 0xff, 0xc4, 0, 9), LIMITS), undefined);
  assert.equal(turbo.decode(bytes, { ...LIMITS, mostPixels: width * height - 1 }), undefined);
  for (let time = 0; time < 3; time++) {
    const image = turbo.decode(bytes, LIMITS)!;
    assert.deepEqual([image.width, image.height, image.rgb.length], [width, height, rgb.length]);
    const off = image.rgb.reduce((sum, value, index) => sum + Math.abs(value - rgb[index]!), 0);
    assert.ok(off / rgb.length < 3, `on average ${off / rgb.length} off`);
  }
});

Deno.test("decodeImage() refuses a JPEG of many scans before it is decoded", async () => {
  const { bytes } = await softImage();
  const scans = Uint8Array.from({ length: 2 * 501 }, (_, at) => at % 2 === 0 ? 0xff : 0xda);
  const bad = new Uint8Array([...bytes.subarray(0, 20), ...scans, ...bytes.subarray(20)]);
  await assert.rejects(decodeImage(bad), /more than 500 scans/);
});

Deno.test("decodeImage() refuses a JPEG that is cut short, and bytes that only begin like one", async () => {
  const { bytes } = await softImage();
  for (const bad of [bytes.subarray(0, bytes.length / 2), Uint8Array.of(0xff, 0xd8, 1, 2, 3)]) {
    await assert.rejects(decodeImage(bad), ImageError);
  }
});
