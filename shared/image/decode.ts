import { Buffer } from "node:buffer";
import { inflateSync } from "node:zlib";
import { TurboJpeg } from "./turbo_jpeg.ts";

/** Bytes that are no image, or one that is too large. The message is for who sent them. */
export class ImageError extends Error {
  override readonly name = "ImageError";
}

/** An image, three bytes a pixel: red, green, blue. */
export interface RgbImage {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** An image of a camera of 50 megapixels takes 450 MB while it is decoded. */
const MOST_PIXELS = 50_000_000;
/** Each is a walk through the whole image. Progressive ones have about ten. */
const MOST_SCANS = 500;
const SCAN_MARKER = Buffer.from([0xff, 0xda]);
const JPEG_MEMORY_MB = 512;
/** Bytes of a pixel: four channels of 16 bits. */
const MOST_PIXEL_BYTES = 8;
/** Parts of a PNG that the image is made of. */
const PNG_PARTS = new Set(["IHDR", "PLTE", "tRNS", "IDAT", "IEND"]);

let turbo: Promise<TurboJpeg> | undefined;

/** Loads what {@link decodeImage} needs, for processes that can read no files later. */
export async function loadDecoders(): Promise<void> {
  await Promise.all([turbo ??= TurboJpeg.load(), import("jpeg-js"), import("fast-png")]);
}

/** Decodes a JPEG or PNG. @throws {ImageError} */
export async function decodeImage(bytes: Uint8Array): Promise<RgbImage> {
  const isPng = bytes[0] === 0x89 && bytes[1] === 0x50;
  const isJpeg = bytes[0] === 0xff && bytes[1] === 0xd8;
  if (!isPng && !isJpeg) {
    throw new ImageError("these bytes are no image: they are neither JPEG nor PNG");
  }
  try {
    return isPng ? await decodePng(bytes) : await decodeJpeg(bytes);
  } catch (error) {
    throw new ImageError(`the image cannot be decoded: ${String(error)}`);
  }
}

async function decodeJpeg(bytes: Uint8Array): Promise<RgbImage> {
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let scans = 0;
  for (let at = 0; (at = content.indexOf(SCAN_MARKER, at) + 1) > 0;) scans++;
  if (scans > MOST_SCANS) throw new Error(`it has more than ${MOST_SCANS} scans`);
  const image = (await (turbo ??= TurboJpeg.load())).decode(bytes, {
    mostPixels: MOST_PIXELS,
    scans,
  });
  if (image) return image;
  // Slower, but knows more kinds of colours, and says what is wrong.
  const { default: jpeg } = await import("jpeg-js");
  const { width, height, data } = jpeg.decode(bytes, {
    useTArray: true,
    formatAsRGBA: false,
    maxResolutionInMP: MOST_PIXELS / 1e6,
    maxMemoryUsageInMB: JPEG_MEMORY_MB,
  });
  return { width, height, rgb: data };
}

async function decodePng(bytes: Uint8Array): Promise<RgbImage> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  // Before anything is inflated: its size is in the header.
  if (view.getUint32(16) * view.getUint32(20) > MOST_PIXELS) throw new Error("it is too large");
  const { convertIndexedToRgb, decode } = await import("fast-png");
  const png = decode(boundedPng(bytes));
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

/**
 * The same PNG without texts and colour profiles, once it is known that its pixels do not inflate
 * to more than its size allows: the library would inflate whatever comes.
 */
function boundedPng(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const parts: Uint8Array[] = [bytes.subarray(0, 8)];
  const pixels: Uint8Array[] = [];
  for (let at = 8; at < bytes.length;) {
    const length = view.getUint32(at);
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const end = at + 12 + length;
    if (PNG_PARTS.has(type)) parts.push(bytes.subarray(at, end));
    if (type === "IDAT") pixels.push(bytes.subarray(at + 8, end - 4));
    if (type === "IEND") break;
    at = end;
  }
  // Each line begins with a byte; an interlaced image has at most two lines for one, and seven more.
  const most = width * height * MOST_PIXEL_BYTES + 2 * height + 7;
  try {
    inflateSync(Buffer.concat(pixels), { maxOutputLength: most });
  } catch (error) {
    if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") {
      throw new Error("it has more pixels than it says");
    }
    // How far a damaged one can be read is for the library to say.
    if (!(error as { code?: string }).code?.startsWith("Z_")) throw error;
  }
  return Buffer.concat(parts);
}
