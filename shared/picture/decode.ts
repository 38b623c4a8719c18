/** Bytes that are no picture, or one that is too large. The message is for who sent them. */
export class PictureError extends Error {
  override readonly name = "PictureError";
}

/** A picture, three bytes a pixel: red, green, blue. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** A picture of a camera of 50 megapixels takes 200 MB while it is decoded. */
const MOST_PIXELS = 50_000_000;
const JPEG_MEMORY_MB = 512;

/** Decodes a JPEG or PNG. @throws {PictureError} */
export async function decodePicture(bytes: Uint8Array): Promise<Picture> {
  const isPng = bytes[0] === 0x89 && bytes[1] === 0x50;
  const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8;
  if (!isPng && !isJpeg) {
    throw new PictureError("these bytes are no picture: they are neither JPEG nor PNG");
  }
  try {
    return isPng ? await decodePng(bytes) : await decodeJpeg(bytes);
  } catch (error) {
    throw new PictureError(`the picture cannot be decoded: ${String(error)}`);
  }
}

async function decodeJpeg(bytes: Uint8Array): Promise<Picture> {
  const { default: jpeg } = await import("jpeg-js");
  const { width, height, data } = jpeg.decode(bytes, {
    useTArray: true,
    formatAsRGBA: false,
    maxResolutionInMP: MOST_PIXELS / 1e6,
    maxMemoryUsageInMB: JPEG_MEMORY_MB,
  });
  return { width, height, rgb: data };
}

async function decodePng(bytes: Uint8Array): Promise<Picture> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  // Before anything is inflated: its size is in the header.
  if (view.getUint32(16) * view.getUint32(20) > MOST_PIXELS) throw new Error("it is too large");
  const { convertIndexedToRgb, decode } = await import("fast-png");
  const png = decode(bytes);
  const { width, height, depth } = png;
  const data = png.palette ? convertIndexedToRgb(png) : png.data;
  const channels = data.length / (width * height);
  // Gray, gray with alpha, colours, colours with alpha.
  const isColour = channels >= 3;
  const scale = depth === 16 && !png.palette ? 1 / 257 : depth < 8 ? 255 / (2 ** depth - 1) : 1;
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    for (let colour = 0; colour < 3; colour++) {
      const at = pixel * channels + (isColour ? colour : 0);
      rgb[pixel * 3 + colour] = Math.round((data[at] ?? 0) * (png.palette ? 1 : scale));
    }
  }
  return { width, height, rgb };
}
