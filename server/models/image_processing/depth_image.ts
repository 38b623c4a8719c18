/** Images of which a pixel is a distance, `image/vnd.viam.dep`. */
import { ImageError, type RgbImage } from "../../../shared/image/decode.ts";

/** Millimetres; 0 where nothing was measured. */
export interface Depth {
  readonly width: number;
  readonly height: number;
  readonly mm: Uint16Array;
}

/** First bytes; then width and height (8 bytes each), then two bytes a pixel, all big-endian. */
const MAGIC = "DEPTHMAP";
const HEAD_BYTES = 24;
const MOST_PIXELS = 50_000_000;

/** @throws {ImageError} */
export function readDepth(bytes: Uint8Array): Depth {
  if (bytes.length < HEAD_BYTES || new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC) {
    throw new ImageError("these bytes are no image of depth: they do not begin with DEPTHMAP");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [width, height] = [Number(view.getBigUint64(8)), Number(view.getBigUint64(16))];
  const pixels = width * height;
  if (pixels > MOST_PIXELS || bytes.length !== HEAD_BYTES + pixels * 2) {
    throw new ImageError(
      `the image of depth of ${width} × ${height} pixels has ${bytes.length} bytes`,
    );
  }
  const mm = new Uint16Array(pixels);
  for (let pixel = 0; pixel < pixels; pixel++) mm[pixel] = view.getUint16(HEAD_BYTES + pixel * 2);
  return { width, height, mm };
}

/** The nearest red, the farthest blue, by way of yellow and green; black where nothing is known. */
export function colouredDepth({ width, height, mm }: Depth): RgbImage {
  let [nearest, farthest] = [Infinity, 0];
  for (const distance of mm) {
    if (distance === 0) continue;
    if (distance < nearest) nearest = distance;
    if (distance > farthest) farthest = distance;
  }
  const span = Math.max(1, farthest - nearest);
  const rgb = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < mm.length; pixel++) {
    const distance = mm[pixel]!;
    if (distance !== 0) rgb.set(hue((distance - nearest) / span), pixel * 3);
  }
  return { width, height, rgb };
}

/** From red (0) over yellow and green to blue (1). */
function hue(share: number): [number, number, number] {
  const part = share * 4;
  if (part < 1) return [255, 255 * part, 0];
  if (part < 2) return [255 * (2 - part), 255, 0];
  if (part < 3) return [0, 255, 255 * (part - 2)];
  return [0, 255 * (4 - part), 255];
}
