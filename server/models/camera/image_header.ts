/** What the first bytes of an image show. Nothing is decoded. Pure. */

export interface ImageHeader {
  readonly mimeType: "image/jpeg" | "image/png";
  readonly width: number;
  readonly height: number;
}

/** Bytes that are no image this server passes on. */
export class ImageError extends Error {
  override readonly name = "ImageError";
}

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const JPEG = [0xff, 0xd8, 0xff];

/**
 * Kind and size of a JPEG or PNG image.
 *
 * @param what whose bytes they are, for errors: "/images/a.jpg".
 * @throws {ImageError} for other formats, and when the header is cut short.
 */
export function readImageHeader(bytes: Uint8Array, what: string): ImageHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const isPng = startsWith(bytes, PNG);
  if (!isPng && !startsWith(bytes, JPEG)) {
    const found = bytes.length === 0
      ? "it is empty"
      : `its first bytes are ${[...bytes.subarray(0, 4)].map(hex).join(" ")}`;
    throw new ImageError(`${what} is neither JPEG nor PNG: ${found}`);
  }
  try {
    const size = isPng ? pngSize(view) : jpegSize(view);
    if (size) return { mimeType: isPng ? "image/png" : "image/jpeg", ...size };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error; // read behind the end: reported below
  }
  throw new ImageError(`${what} is cut short or damaged: it has no width and height`);
}

interface Size {
  width: number;
  height: number;
}

/** IHDR is always the first chunk: length, name, width, height (PNG specification, 11.2.1). */
function pngSize(view: DataView): Size | undefined {
  if (view.getUint32(12) !== 0x49484452) return undefined;
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** Walks the segments up to the first frame header, SOF0 to SOF15 (ITU T.81, table B.1). */
function jpegSize(view: DataView): Size | undefined {
  for (let at = 2;;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) { // a fill byte
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    if (marker === 0xda || marker === 0xd9) return undefined; // image data, or the end
    at += 2 + view.getUint16(at + 2);
  }
}

function startsWith(bytes: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, index) => bytes[index] === byte);
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
