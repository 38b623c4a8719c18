import { Buffer } from "node:buffer";
import jpeg from "jpeg-js";

export const SHAPES = ["red circle", "green square", "blue triangle"] as const;
export type ShapeLabel = typeof SHAPES[number];

/** Something in an image; its box in shares of the image's size. */
export interface Shape {
  readonly label: ShapeLabel;
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
}

export interface ShapeImage {
  readonly side: number;
  /** Three bytes for each pixel, row by row. */
  readonly rgb: Uint8Array<ArrayBuffer>;
  readonly shapes: readonly Shape[];
}

const COLOURS: Readonly<Record<ShapeLabel, readonly number[]>> = {
  "red circle": [200, 50, 50],
  "green square": [50, 180, 60],
  "blue triangle": [50, 70, 200],
};
const NOISE = 25;
/** Half of a shape's size, in shares of the image's. */
const SMALLEST = 0.1, LARGEST = 0.2;
const PLACES_TRIED = 50;

/** An image of one shape; the three take turns. The same number gives the same image. */
export function oneShape(number: number, side: number): ShapeImage {
  return draw(number, side, [SHAPES[number % SHAPES.length] ?? SHAPES[0]]);
}

/** An image of one to three different shapes, all sets in turn. */
export function someShapes(number: number, side: number): ShapeImage {
  const set = number % 7 + 1;
  return draw(number, side, SHAPES.filter((_, bit) => set & (1 << bit)));
}

export function toJpeg({ side, rgb }: ShapeImage): Uint8Array<ArrayBuffer> {
  const data = Buffer.alloc(side * side * 4, 255);
  for (let pixel = 0; pixel < side * side; pixel++) {
    data.set(rgb.subarray(pixel * 3, pixel * 3 + 3), pixel * 4);
  }
  return new Uint8Array(jpeg.encode({ data, width: side, height: side }, 90).data);
}

function draw(number: number, side: number, labels: readonly ShapeLabel[]): ShapeImage {
  const random = randomOf(number);
  const between = (low: number, high: number) => low + (high - low) * random();
  const ground = [0, 1, 2].map(() => between(90, 200));
  const rgb = new Uint8Array(side * side * 3);
  const shapes: Shape[] = [];
  const colours = labels.map((label) => COLOURS[label].map((part) => part + between(-40, 40)));
  for (const label of labels) {
    for (let tries = 0; tries < PLACES_TRIED; tries++) {
      const half = between(SMALLEST, LARGEST);
      const [x, y] = [between(half, 1 - half), between(half, 1 - half)];
      const shape = { label, xMin: x - half, yMin: y - half, xMax: x + half, yMax: y + half };
      if (shapes.some((other) => touches(shape, other)) && tries < PLACES_TRIED - 1) continue;
      shapes.push(shape);
      break;
    }
  }
  for (let pixel = 0; pixel < side * side; pixel++) {
    const x = (pixel % side + 0.5) / side;
    const y = (Math.floor(pixel / side) + 0.5) / side;
    const at = shapes.findLastIndex((shape) => covers(shape, x, y));
    const colour = colours[at] ?? ground;
    for (let part = 0; part < 3; part++) {
      const value = (colour[part] ?? 0) + between(-NOISE, NOISE);
      rgb[pixel * 3 + part] = Math.min(255, Math.max(0, value));
    }
  }
  return { side, rgb, shapes };
}

function covers({ label, xMin, yMin, xMax, yMax }: Shape, x: number, y: number): boolean {
  const half = (xMax - xMin) / 2;
  const [right, down] = [(x - xMin - half) / half, (y - yMin - half) / half];
  if (Math.abs(right) > 1 || Math.abs(down) > 1 || xMax <= xMin || yMax <= yMin) return false;
  if (label === "red circle") return right ** 2 + down ** 2 <= 1;
  return label === "green square" || Math.abs(right) <= (down + 1) / 2;
}

function touches(one: Shape, other: Shape): boolean {
  return one.xMin < other.xMax && other.xMin < one.xMax &&
    one.yMin < other.yMax && other.yMin < one.yMax;
}

/** Numbers from 0 to 1 that look random, the same ones for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}
