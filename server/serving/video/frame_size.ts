/** Width and height of a frame, of its first bytes. Nothing is decoded. Pure. */
import { RAW_RGBA } from "./encoders.ts";

/** In pixels. */
export interface FrameSize {
  readonly width: number;
  readonly height: number;
}

/** Undefined when the bytes are no such frame. */
export function frameSize(bytes: Uint8Array, mimeType: string): FrameSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    const size = mimeType === RAW_RGBA
      ? rawSize(view)
      : mimeType === "image/png"
      ? pngSize(view)
      : jpegSize(view);
    return size && size.width > 0 && size.height > 0 ? size : undefined;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** "RGBA", width, height. */
function rawSize(view: DataView): FrameSize | undefined {
  if (view.getUint32(0) !== 0x52474241) return undefined;
  return { width: view.getUint32(4), height: view.getUint32(8) };
}

/** IHDR is always the first chunk (PNG specification, 11.2.1). */
function pngSize(view: DataView): FrameSize | undefined {
  if (view.getUint32(0) !== 0x89504e47 || view.getUint32(12) !== 0x49484452) return undefined;
  return { width: view.getUint32(16), height: view.getUint32(20) };
}

/** Walks the segments up to the first frame header (ITU T.81, table B.1). */
function jpegSize(view: DataView): FrameSize | undefined {
  if (view.getUint16(0) !== 0xffd8) return undefined;
  for (let at = 2;;) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    if (marker === 0xff) {
      at++;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
    if (marker === 0xda || marker === 0xd9) return undefined;
    at += 2 + view.getUint16(at + 2);
  }
}
