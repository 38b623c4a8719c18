/** Which positions of the joints bring the end of a chain to a pose: damped least squares. */
import { multiply, type Quaternion } from "../../../shared/config/orientation.ts";
import type { KinematicChain } from "./kinematic_chain.ts";
import type { Pose } from "./pose.ts";
import type { Slices } from "./slices.ts";

/** So near the end has to be: millimetres and radians. */
const NEAR = { mm: 0.05, radians: 0.001 };
/** A radian counts as much as so many millimetres. */
const MM_PER_RADIAN = 300;
const MOST_STEPS = 150;
/** After so many steps the error must have become so much smaller; else it leads nowhere. */
const HOPE = { steps: 15, share: 0.9 };
const DAMPING = 0.02;
/** Of a joint that turns, per step, in degrees; one that slides may move ten times as many mm. */
const LONGEST_STEP = 20;
/** For the differences that the derivative is made of: degrees or millimetres. */
const DIFFERENCE = 0.01;
/** Joints without limits begin within so many degrees. */
const BEGIN_WITHIN = 180;

/** A source of numbers from 0 to 1. */
export type Random = () => number;

export interface Wanted {
  readonly pose: Pose;
  /** The positions that are near are preferred. */
  readonly from: readonly number[];
  /** False: only the point counts, not how the end is turned. Default true. */
  readonly turned?: boolean;
}

/**
 * Positions within the limits of the joints, or undefined when none are found from this beginning.
 */
export function solveFrom(
  chain: KinematicChain,
  { pose, turned = true }: Pick<Wanted, "pose" | "turned">,
  begin: readonly number[],
): number[] | undefined {
  const joints = chain.joints;
  let at = joints.map(({ min, max }, index) => Math.max(min, Math.min(max, begin[index] ?? 0)));
  let error = difference(chain.endAt(at), pose, turned);
  let before = Infinity;
  for (let step = 0; step < MOST_STEPS; step++) {
    if (isNear(error)) return at;
    if (step % HOPE.steps === 0) {
      const now = Math.hypot(...error);
      if (now > before * HOPE.share) return undefined;
      before = now;
    }
    const columns = joints.map((_, index) => {
      const moved = [...at];
      moved[index]! += DIFFERENCE;
      const after = difference(chain.endAt(moved), pose, turned);
      return error.map((value, row) => (value - after[row]!) / DIFFERENCE);
    });
    const change = leastSquares(columns, error);
    const largest = Math.max(
      ...change.map((value, index) => Math.abs(value) / (joints[index]!.slides ? 10 : 1)),
    );
    const scale = largest > LONGEST_STEP ? LONGEST_STEP / largest : 1;
    at = at.map((value, index) => {
      const { min, max } = joints[index]!;
      return Math.max(min, Math.min(max, value + change[index]! * scale));
    });
    error = difference(chain.endAt(at), pose, turned);
  }
  return isNear(error) ? at : undefined;
}

/**
 * Different solutions, those nearest to `from` first; empty when none is found in time.
 *
 * @param fits which solutions count. Default: all.
 */
export async function solutions(
  chain: KinematicChain,
  wanted: Wanted,
  { most, tries, random, slices, signal, fits = () => true }: {
    readonly most: number;
    readonly tries: number;
    readonly random: Random;
    readonly slices: Slices;
    readonly signal: AbortSignal;
    readonly fits?: (positions: readonly number[]) => boolean;
  },
): Promise<number[][]> {
  const found: number[][] = [];
  for (let n = 0; n < tries && found.length < most && !slices.isOver; n++) {
    const begin = n === 0 ? wanted.from : chain.joints.map(({ min, max, slides }) => {
      const [low, high] = slides
        ? [min, max]
        : [Math.max(min, -BEGIN_WITHIN), Math.min(max, BEGIN_WITHIN)];
      return low + (high - low) * random();
    });
    const solved = solveFrom(chain, wanted, begin);
    await slices.pause(signal);
    if (!solved) continue;
    const nearest = unwound(chain, solved, wanted.from);
    const isNew = found.every((one) => farthest(one, nearest) > 1);
    if (isNew && fits(nearest)) found.push(nearest);
  }
  return found.sort((a, b) => farthest(a, wanted.from) - farthest(b, wanted.from));
}

/** The greatest difference of a joint. */
export function farthest(a: readonly number[], b: readonly number[]): number {
  return Math.max(0, ...a.map((value, index) => Math.abs(value - b[index]!)));
}

/** Full turns that lead away from where it begins are taken back, where the limits let it. */
function unwound(chain: KinematicChain, at: readonly number[], from: readonly number[]): number[] {
  return at.map((value, index) => {
    const { slides, min, max } = chain.joints[index]!;
    if (slides) return value;
    const near = value - 360 * Math.round((value - from[index]!) / 360);
    return near >= min && near <= max ? near : value;
  });
}

function isNear(error: readonly number[]): boolean {
  const [x = 0, y = 0, z = 0, ...turn] = error;
  return Math.hypot(x, y, z) <= NEAR.mm &&
    Math.hypot(...turn) <= NEAR.radians * MM_PER_RADIAN;
}

/** What is missing to a pose: millimetres, and turns in the measure of {@link MM_PER_RADIAN}. */
function difference(at: Pose, to: Pose, turned: boolean): number[] {
  const way = [to.point.x - at.point.x, to.point.y - at.point.y, to.point.z - at.point.z];
  if (!turned) return way;
  const { x, y, z, angle } = turnBetween(at.rotation, to.rotation);
  return [...way, ...[x, y, z].map((axis) => axis * angle * MM_PER_RADIAN)];
}

/** The turn from one rotation to another: its axis, and its angle in radians, at most π. */
export function turnBetween(from: Quaternion, to: Quaternion) {
  const back = { w: from.w, x: -from.x, y: -from.y, z: -from.z };
  const turn = multiply(to, back);
  const sign = turn.w < 0 ? -1 : 1;
  const sine = Math.hypot(turn.x, turn.y, turn.z);
  if (sine < 1e-12) return { x: 0, y: 0, z: 1, angle: 0 };
  const scale = sign / sine;
  return {
    ...{ x: turn.x * scale, y: turn.y * scale, z: turn.z * scale },
    angle: 2 * Math.atan2(sine, sign * turn.w),
  };
}

/** Solves Jᵀ(JJᵀ + λ²)⁻¹e for the columns of J. */
function leastSquares(columns: readonly number[][], error: readonly number[]): number[] {
  const size = error.length;
  // Damped by the size of the matrix, so that units do not matter.
  const power = columns.reduce((sum, column) => sum + column.reduce((s, v) => s + v * v, 0), 0);
  const damping = DAMPING * DAMPING * power / size + 1e-12;
  const matrix = Array.from({ length: size }, (_, row) => [
    ...Array.from(
      { length: size },
      (_, column) =>
        columns.reduce((sum, one) => sum + one[row]! * one[column]!, row === column ? damping : 0),
    ),
    error[row]!,
  ]);
  for (let pivot = 0; pivot < size; pivot++) {
    let best = pivot;
    for (let row = pivot + 1; row < size; row++) {
      if (Math.abs(matrix[row]![pivot]!) > Math.abs(matrix[best]![pivot]!)) best = row;
    }
    [matrix[pivot], matrix[best]] = [matrix[best]!, matrix[pivot]!];
    for (let row = 0; row < size; row++) {
      if (row === pivot) continue;
      const factor = matrix[row]![pivot]! / matrix[pivot]![pivot]!;
      for (let at = pivot; at <= size; at++) matrix[row]![at]! -= factor * matrix[pivot]![at]!;
    }
  }
  const solved = matrix.map((row, at) => row[size]! / row[at]!);
  return columns.map((column) => column.reduce((sum, value, row) => sum + value * solved[row]!, 0));
}
