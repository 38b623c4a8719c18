import type { RgbImage } from "../../../shared/image/decode.ts";
import { hsvOf } from "./hue.ts";

export interface ColourSought {
  /** From 0 to 1, red at 0. */
  readonly hue: number;
  /** How far a hue may be away, as a share of the circle. */
  readonly tolerance: number;
  /** Colours with less saturation, or darker ones, have no hue to speak of. From 0 to 1. */
  readonly leastSaturation: number;
  readonly leastValue: number;
  /** Smaller areas are left out. Pixels. */
  readonly leastPixels: number;
  /** Most areas, the largest first. */
  readonly most: number;
}

/** An area of one colour: its bounds in pixels, the last ones not included, and its size. */
export interface ColourArea {
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
  readonly pixels: number;
}

/** The areas of pixels side by side that have a colour; the largest first. Pure. */
export function colourAreas(image: RgbImage, sought: ColourSought): ColourArea[] {
  const { width, height } = image;
  const open = matching(image, sought);
  const found: ColourArea[] = [];
  const stack: number[] = [];
  for (let start = 0; start < open.length; start++) {
    if (open[start] === 0) continue;
    let [xMin, yMin, xMax, yMax, pixels] = [width, height, 0, 0, 0];
    open[start] = 0;
    stack.push(start);
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const [x, y] = [at % width, Math.floor(at / width)];
      pixels++;
      [xMin, xMax] = [Math.min(xMin, x), Math.max(xMax, x + 1)];
      [yMin, yMax] = [Math.min(yMin, y), Math.max(yMax, y + 1)];
      const take = (next: number) => {
        if (open[next] === 0) return;
        open[next] = 0;
        stack.push(next);
      };
      if (x > 0) take(at - 1);
      if (x < width - 1) take(at + 1);
      if (y > 0) take(at - width);
      if (y < height - 1) take(at + width);
    }
    if (pixels >= sought.leastPixels) found.push({ xMin, yMin, xMax, yMax, pixels });
  }
  return found.sort((a, b) => b.pixels - a.pixels).slice(0, sought.most);
}

/** One for each pixel that has the colour, else 0. */
function matching(
  { rgb, width, height }: RgbImage,
  { hue, tolerance, leastSaturation, leastValue }: ColourSought,
): Uint8Array {
  const found = new Uint8Array(width * height);
  for (let pixel = 0; pixel < found.length; pixel++) {
    const at = pixel * 3;
    const [other, saturation, value] = hsvOf(rgb[at] ?? 0, rgb[at + 1] ?? 0, rgb[at + 2] ?? 0);
    if (saturation < leastSaturation || value < leastValue) continue;
    const apart = Math.abs(other - hue);
    if (Math.min(apart, 1 - apart) <= tolerance) found[pixel] = 1;
  }
  return found;
}
