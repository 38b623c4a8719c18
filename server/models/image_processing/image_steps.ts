/** Changes of images, one after the other. */
import { ImageError, type RgbImage } from "../../../shared/image/decode.ts";
import { resize } from "../../../shared/image/resize.ts";
import { colouredDepth, type Depth } from "./depth_image.ts";
import { drawText, TEXT_HEIGHT } from "./drawn_text.ts";

/** Pixels; `right` and `bottom` are the first that are outside. */
export interface PixelBox {
  readonly x: number;
  readonly y: number;
  readonly right: number;
  readonly bottom: number;
}

export type ImageStep =
  | { readonly kind: "identity" | "colour_depth" | "overlay_depth" }
  | { readonly kind: "resize"; readonly width: number; readonly height: number }
  | { readonly kind: "crop"; readonly box: PixelBox }
  | { readonly kind: "box"; readonly box: PixelBox; readonly label?: string }
  | { readonly kind: "text"; readonly lines: readonly string[] }
  /** Clockwise. */
  | { readonly kind: "rotate"; readonly degrees: number }
  | {
    readonly kind: "undistort";
    readonly lens: {
      readonly fx: number;
      readonly fy: number;
      readonly ppx: number;
      readonly ppy: number;
    };
    readonly radial: readonly [number, number, number];
    readonly tangential: readonly [number, number];
  };

const BOX_COLOUR = [255, 64, 0] as const;
const LINE_PX = 2;

/** The image after all steps. @throws {ImageError} when a step does not fit it. */
export function changedImage(
  image: RgbImage,
  depth: Depth | undefined,
  steps: readonly ImageStep[],
): RgbImage {
  return steps.reduce((current, step) => changed(current, depth, step), image);
}

function changed(image: RgbImage, depth: Depth | undefined, step: ImageStep): RgbImage {
  switch (step.kind) {
    case "identity":
    case "colour_depth": // it is coloured when it is decoded
      return image;
    case "overlay_depth":
      return overlaid(image, depth);
    case "resize":
      return resize(image, step.width, step.height);
    case "crop":
      return cropped(image, step.box);
    case "box":
      return boxed(image, step.box, step.label);
    case "text": {
      const copy = { ...image, rgb: image.rgb.slice() };
      step.lines.forEach((line, index) => drawText(copy, line, 4, 4 + index * (TEXT_HEIGHT + 4)));
      return copy;
    }
    case "rotate":
      return rotated(image, step.degrees);
    case "undistort":
      return undistorted(image, step);
  }
}

function cropped(image: RgbImage, { x, y, right, bottom }: PixelBox): RgbImage {
  const [endX, endY] = [Math.min(right, image.width), Math.min(bottom, image.height)];
  if (x >= endX || y >= endY) {
    throw new ImageError(
      `the image of ${image.width} × ${image.height} pixels has nothing inside the crop from ` +
        `${x}, ${y} to ${right}, ${bottom}`,
    );
  }
  return mapped(endX - x, endY - y, (to, toX, toY) => {
    const from = ((toY + y) * image.width + toX + x) * 3;
    to.set(image.rgb.subarray(from, from + 3));
  });
}

function boxed(image: RgbImage, box: PixelBox, label: string | undefined): RgbImage {
  const { width, height } = image;
  const copy = { width, height, rgb: image.rgb.slice() };
  const [x, y] = [Math.max(0, box.x), Math.max(0, box.y)];
  const [right, bottom] = [Math.min(width, box.right), Math.min(height, box.bottom)];
  for (let row = y; row < bottom; row++) {
    const isEdge = row < y + LINE_PX || row >= bottom - LINE_PX;
    for (let column = x; column < right; column++) {
      if (isEdge || column < x + LINE_PX || column >= right - LINE_PX) {
        copy.rgb.set(BOX_COLOUR, (row * width + column) * 3);
      }
    }
  }
  if (label !== undefined) drawText(copy, label, x, Math.max(0, y - TEXT_HEIGHT - 2));
  return copy;
}

/** Quarter turns are exact; else what is outside is black, in an image that holds all of it. */
function rotated(image: RgbImage, degrees: number): RgbImage {
  const { width, height } = image;
  const angle = degrees * Math.PI / 180;
  const quarter = degrees % 90 === 0;
  const [sin, cos] = quarter
    ? [Math.round(Math.sin(angle)), Math.round(Math.cos(angle))]
    : [Math.sin(angle), Math.cos(angle)];
  const newWidth = Math.round(Math.abs(width * cos) + Math.abs(height * sin));
  const newHeight = Math.round(Math.abs(width * sin) + Math.abs(height * cos));
  return mapped(newWidth, newHeight, (to, toX, toY) => {
    const [dx, dy] = [toX + 0.5 - newWidth / 2, toY + 0.5 - newHeight / 2];
    const x = Math.floor(dx * cos + dy * sin + width / 2);
    const y = Math.floor(dy * cos - dx * sin + height / 2);
    take(image, x, y, to);
  });
}

function undistorted(
  image: RgbImage,
  { lens: { fx, fy, ppx, ppy }, radial: [k1, k2, k3], tangential: [p1, p2] }: Extract<
    ImageStep,
    { kind: "undistort" }
  >,
): RgbImage {
  return mapped(image.width, image.height, (to, toX, toY) => {
    const [x, y] = [(toX - ppx) / fx, (toY - ppy) / fy];
    const r2 = x * x + y * y;
    const stretch = 1 + r2 * (k1 + r2 * (k2 + r2 * k3));
    const bentX = x * stretch + 2 * p1 * x * y + p2 * (r2 + 2 * x * x);
    const bentY = y * stretch + 2 * p2 * x * y + p1 * (r2 + 2 * y * y);
    take(image, Math.round(bentX * fx + ppx), Math.round(bentY * fy + ppy), to);
  });
}

function overlaid(image: RgbImage, depth: Depth | undefined): RgbImage {
  if (!depth) throw new ImageError("there is no image of depth");
  if (depth.width !== image.width || depth.height !== image.height) {
    throw new ImageError(
      `the image of depth has ${depth.width} × ${depth.height} pixels, that of colours ` +
        `${image.width} × ${image.height}; they must have one size`,
    );
  }
  const { rgb } = colouredDepth(depth);
  return { ...image, rgb: image.rgb.map((value, at) => (value + rgb[at]!) / 2) };
}

/** Outside the image it stays black. */
function take({ width, height, rgb }: RgbImage, x: number, y: number, to: Uint8Array): void {
  if (x < 0 || y < 0 || x >= width || y >= height) return;
  const from = (y * width + x) * 3;
  to.set(rgb.subarray(from, from + 3));
}

function mapped(
  width: number,
  height: number,
  paint: (to: Uint8Array, x: number, y: number) => void,
): RgbImage {
  const rgb = new Uint8Array(width * height * 3);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 3) paint(rgb.subarray(at, at + 3), x, y);
  }
  return { width, height, rgb };
}
