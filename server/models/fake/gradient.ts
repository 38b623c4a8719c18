/** Images of a gradient from yellow, top left, to blue, bottom right. */

/** Quality of the JPEG, 1 to 100. */
const QUALITY = 85;

const YELLOW = [255, 255, 0] as const;
const BLUE = [0, 0, 255] as const;

/** Red, green and blue of one pixel, 0 to 255. */
export function gradientColor(
  x: number,
  y: number,
  width: number,
  height: number,
): [number, number, number] {
  const share = (x / Math.max(1, width - 1) + y / Math.max(1, height - 1)) / 2;
  const mixed = YELLOW.map((from, index) => Math.round(from + (BLUE[index]! - from) * share));
  return mixed as [number, number, number];
}

/**
 * The image as JPEG. Takes some 100 ms for 1280 × 720: keep it.
 *
 * @param phase how far the gradient has moved on, from 0 to 1; at 1 it is where it was at 0
 */
export async function gradientJpeg(
  width: number,
  height: number,
  phase = 0,
): Promise<Uint8Array> {
  const { default: jpeg } = await import("jpeg-js"); // for cameras that nobody looks at: not at all
  const data = new Uint8Array(width * height * 4);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      const place = (x / Math.max(1, width - 1) + y / Math.max(1, height - 1)) / 2;
      // There and back, so that it moves without a jump.
      const share = 1 - Math.abs(1 - (place + 2 * phase) % 2);
      data[at] = data[at + 1] = 255 - 255 * share;
      data[at + 2] = 255 * share;
      data[at + 3] = 255;
    }
  }
  return new Uint8Array(jpeg.encode({ data, width, height }, QUALITY).data);
}
