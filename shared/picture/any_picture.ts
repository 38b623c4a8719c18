import { decodePicture, type Picture, PictureError } from "./decode.ts";

/** First bytes of the raw form that SDKs send: then width and height, big-endian, then pixels. */
const RAW_MAGIC = "RGBA";
const RAW_HEAD_BYTES = 12;

/** Decodes a JPEG, a PNG, or raw pixels of four bytes behind their head. @throws {PictureError} */
export async function decodeAnyPicture(bytes: Uint8Array): Promise<Picture> {
  if (new TextDecoder().decode(bytes.subarray(0, 4)) !== RAW_MAGIC) {
    return await decodePicture(bytes);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < RAW_HEAD_BYTES) throw new PictureError("the raw image is cut short");
  const [width, height] = [view.getUint32(4), view.getUint32(8)];
  if (bytes.length !== RAW_HEAD_BYTES + width * height * 4) {
    throw new PictureError(
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
