import type { RgbImage } from "../image/decode.ts";
import { resize } from "../image/resize.ts";
import { InferenceRefusedError } from "./tensors.ts";

/** How colours become numbers. */
export interface ImageNumbers {
  /** What is subtracted from each colour, red, green, blue, from 0 to 255. Default: nothing. */
  readonly mean?: readonly number[];
  /** What the colour is divided by then. Default: 255 for float32. */
  readonly deviation?: readonly number[];
  /** Blue comes first. Default false. */
  readonly isBgr?: boolean;
}

/**
 * The image in the form that a model takes: bytes from 0 to 255, or numbers from 0 to 1.
 *
 * @param shape `[1, height, width, 3]` or `[1, 3, height, width]`.
 * @throws {InferenceRefusedError} when the model takes no image.
 */
export function imageTensor(
  image: RgbImage,
  shape: readonly number[],
  type: string,
  { mean, deviation, isBgr = false }: ImageNumbers = {},
): Uint8Array<ArrayBuffer> | Float32Array<ArrayBuffer> {
  const [count, a = 0, b = 0, c = 0] = shape;
  const channelsFirst = a === 3 && c !== 3;
  const [height, width, channels] = channelsFirst ? [b, c, a] : [a, b, c];
  if (shape.length !== 4 || count !== 1 || channels !== 3 || height < 1 || width < 1) {
    throw new InferenceRefusedError(
      `the model's input has the shape [${shape}]; an image is [1, height, width, 3] or ` +
        "[1, 3, height, width]",
    );
  }
  const isOfBytes = type === "uint8";
  if (!isOfBytes && type !== "float32") {
    throw new InferenceRefusedError(
      `the model's input holds ${type}; an image is uint8 or float32`,
    );
  }
  const { rgb } = resize(image, width, height);
  const area = width * height;
  const values = new (isOfBytes ? Uint8Array : Float32Array)(rgb.length);
  for (let colour = 0; colour < 3; colour++) {
    const from = isBgr ? 2 - colour : colour;
    const less = mean?.[from] ?? 0;
    const by = isOfBytes ? 1 : deviation?.[from] ?? (mean ? 1 : 255);
    const [start, step] = channelsFirst ? [colour * area, 1] : [colour, 3];
    // A division for each value of a byte is less than one for each pixel.
    const numbers = Float64Array.from({ length: 256 }, (_, value) => (value - less) / by);
    for (let pixel = 0; pixel < area; pixel++) {
      values[start + pixel * step] = numbers[rgb[pixel * 3 + from]!]!;
    }
  }
  return values;
}
