/** A box in a picture: parts of its width and height, 0 to 1. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Smallest width and height of a box that is kept; a click is none. */
const LEAST = 0.005;
const STEP = 0.01;

/** The box between two points, cut to the picture. */
export function boxBetween(
  a: { readonly x: number; readonly y: number },
  b: { readonly x: number; readonly y: number },
): Box {
  const [left, right] = [inside(Math.min(a.x, b.x)), inside(Math.max(a.x, b.x))];
  const [top, bottom] = [inside(Math.min(a.y, b.y)), inside(Math.max(a.y, b.y))];
  return { left, top, right, bottom };
}

/** Whether a box is large enough to be one. */
export function isBox({ left, top, right, bottom }: Box): boolean {
  return right - left >= LEAST && bottom - top >= LEAST;
}

/**
 * A box after an arrow key: it moves by a hundredth of the picture, with `resizes` its right and lower
 * edges do. It stays within the picture; undefined: the key is none of these.
 */
export function boxAfterKey(box: Box, key: string, resizes: boolean): Box | undefined {
  const move = MOVES[key];
  if (!move) return undefined;
  const [x, y] = move;
  const right = inside(Math.max(box.right + x * STEP, resizes ? box.left + STEP : 0));
  const bottom = inside(Math.max(box.bottom + y * STEP, resizes ? box.top + STEP : 0));
  if (resizes) return { ...box, right, bottom };
  const [width, height] = [box.right - box.left, box.bottom - box.top];
  const left = Math.min(Math.max(box.left + x * STEP, 0), 1 - width);
  const top = Math.min(Math.max(box.top + y * STEP, 0), 1 - height);
  return { left, top, right: left + width, bottom: top + height };
}

const MOVES: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

function inside(value: number): number {
  return Math.min(Math.max(value, 0), 1);
}
