import { decodeImage, ImageError, type RgbImage } from "./decode.ts";

/** First bytes of the raw form that SDKs send: then width and height, big-endian, then pixels. */
const RAW_MAGIC = "RGBA";
const RAW_HEAD_BYTES = 12;

/** Decodes a JPEG, a PNG, or raw pixels of four bytes behind their head. @throws {ImageError} */
export async function decodeAnyImage(bytes: Uint8Array): Promise<RgbImage> {
  if (new TextDecoder().decode(bytes.subarray(0, 4)) !== RAW_MAGIC) {
    return await decodeImage(bytes);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < RAW_HEAD_BYTES) throw new ImageError("the raw image is cut short");
  const [width, height] = [view.getUint32(4), view.getUint32(8)];
  if (bytes.length !== RAW_HEAD_BYTES + width * height * 4) {
    throw new ImageError(
      `the raw image of ${width} times ${height} pixels has ${bytes.length} bytes`,
    );
  }
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const at = RAW_HEAD_BYTES + pixel * 4;
    rgb.set(bytes.subarray(at, at + 3), pixel * 3);
  }
  return { width, height, rgb };
}
