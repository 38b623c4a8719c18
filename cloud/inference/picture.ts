import { InferenceRefusedError } from "./inference_form.ts";

/** A picture, three bytes a pixel: red, green, blue. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** A picture of a camera of 50 megapixels takes 200 MB while it is decoded. */
const MOST_PIXELS = 50_000_000;
const JPEG_MEMORY_MB = 512;

/** Decodes a JPEG or PNG. @throws {InferenceRefusedError} */
export async function decodePicture(bytes: Uint8Array): Promise<Picture> {
  const isPng = bytes[0] === 0x89 && bytes[1] === 0x50;
  const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8;
  if (!isPng && !isJpeg) {
    throw new InferenceRefusedError("the binary data is no picture: it is neither JPEG nor PNG");
  }
  try {
    return isPng ? await decodePng(bytes) : await decodeJpeg(bytes);
  } catch (error) {
    throw new InferenceRefusedError(`the picture cannot be decoded: ${String(error)}`);
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

/** The picture at another size, each colour between those of the four pixels around. */
export function resize(picture: Picture, width: number, height: number): Picture {
  if (picture.width === width && picture.height === height) return picture;
  const rgb = new Uint8Array(width * height * 3);
  const at = (x: number, y: number, colour: number) =>
    picture.rgb[(y * picture.width + x) * 3 + colour] ?? 0;
  for (let y = 0; y < height; y++) {
    const [y0, y1, dy] = between(y, height, picture.height);
    for (let x = 0; x < width; x++) {
      const [x0, x1, dx] = between(x, width, picture.width);
      for (let colour = 0; colour < 3; colour++) {
        const upper = at(x0, y0, colour) * (1 - dx) + at(x1, y0, colour) * dx;
        const lower = at(x0, y1, colour) * (1 - dx) + at(x1, y1, colour) * dx;
        rgb[(y * width + x) * 3 + colour] = Math.round(upper * (1 - dy) + lower * dy);
      }
    }
  }
  return { width, height, rgb };
}

/** Two neighbours in a row of `from` pixels of a pixel in one of `to`, and how far it is along. */
function between(position: number, to: number, from: number): [number, number, number] {
  const exact = Math.min(Math.max((position + 0.5) * from / to - 0.5, 0), from - 1);
  const first = Math.floor(exact);
  return [first, Math.min(first + 1, from - 1), exact - first];
}
