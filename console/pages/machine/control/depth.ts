/** Depth maps of cameras, as pictures. */

/** MIME type of depth maps: https://docs.viam.com/dev/reference/apis/components/camera/ */
export const DEPTH_MIME = "image/vnd.viam.dep";

const HEADER_BYTES = 24;
/** "DEPTHMAP", read as a number. */
const MAGIC = 0x44_45_50_54_48_4d_41_50n;
const MOST_PIXELS = 64_000_000;

export interface GreyPicture {
  readonly width: number;
  readonly height: number;
  /** Red, green, blue, alpha of each pixel. */
  readonly pixels: Uint8ClampedArray<ArrayBuffer>;
}

/**
 * A depth map in grey: near is bright, far is dark, and where nothing was measured is black. The
 * form: the text "DEPTHMAP", width and height as big-endian 64-bit numbers, then millimetres as
 * big-endian 16-bit numbers, row by row.
 *
 * @returns undefined when the bytes are none.
 */
export function greyOf(bytes: Uint8Array): GreyPicture | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getBigUint64(0) !== MAGIC) return undefined;
  const [width, height] = [Number(view.getBigUint64(8)), Number(view.getBigUint64(16))];
  const count = width * height;
  if (!(count > 0 && count <= MOST_PIXELS) || bytes.length < HEADER_BYTES + 2 * count) {
    return undefined;
  }
  const depthOf = (at: number): number => view.getUint16(HEADER_BYTES + 2 * at);
  let [near, far] = [Infinity, 0];
  for (let at = 0; at < count; at++) {
    const depth = depthOf(at);
    if (depth === 0) continue;
    near = Math.min(near, depth);
    far = Math.max(far, depth);
  }
  const pixels = new Uint8ClampedArray(4 * count);
  for (let at = 0; at < count; at++) {
    const depth = depthOf(at);
    const grey = depth === 0 ? 0 : far === near ? 255 : 255 - 215 * (depth - near) / (far - near);
    pixels.set([grey, grey, grey, 255], 4 * at);
  }
  return { width, height, pixels };
}
