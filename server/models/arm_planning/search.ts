/** The way of an arm between positions of its joints: two trees that grow towards one another. */
import { farthest, type Random } from "../../resources/frames/inverse_kinematics.ts";
import type { KinematicChain } from "../../resources/frames/kinematic_chain.ts";
import type { Slices } from "../../resources/frames/slices.ts";

/** Positions of the joints: degrees, or millimetres. */
export type Positions = readonly number[];

/** A tree grows by so much at a time. Degrees or mm. */
const BRANCH = 15;
const MOST_NODES = 6_000;
const SHORTCUTS = 150;

export interface SearchOptions {
  readonly chain: KinematicChain;
  readonly isFree: (positions: Positions) => boolean;
  /** Into how many pieces a way is to be cut, so that nothing is missed between them. */
  readonly piecesOf: (from: Positions, to: Positions) => number;
  readonly random: Random;
  readonly slices: Slices;
  readonly signal: AbortSignal;
}

/**
 * Whether a straight way in joint space is free, its beginning left out. False, too, when the time
 * is over: one that reaches far takes many looks.
 */
export async function isWayFree(
  from: Positions,
  to: Positions,
  { isFree, piecesOf, slices, signal }: SearchOptions,
): Promise<boolean> {
  const pieces = Math.max(1, piecesOf(from, to));
  for (let piece = pieces; piece > 0; piece--) {
    if (!isFree(toward(from, to, piece / pieces))) return false;
    if (!slices.isDue) continue;
    if (slices.isOver) return false;
    await slices.pause(signal);
  }
  return true;
}

/**
 * A way from a start to one of several goals, which are free; undefined when none is found in time.
 * RRT-Connect: James Kuffner and Steven LaValle, 2000.
 */
export async function findWay(
  start: Positions,
  goals: readonly Positions[],
  options: SearchOptions,
): Promise<Positions[] | undefined> {
  const { chain, random, slices, signal } = options;
  for (const goal of goals) {
    await slices.pause(signal);
    if (await isWayFree(start, goal, options)) return [start, goal];
  }
  let [one, other] = [new Tree([start]), new Tree(goals)];
  let isForward = true;
  while (one.size + other.size < MOST_NODES && !slices.isOver) {
    await slices.pause(signal);
    const wanted = chain.joints.map(({ min, max, slides }) => {
      // Full turns beyond the first lead nowhere new.
      const [low, high] = slides ? [min, max] : [Math.max(min, -180), Math.min(max, 180)];
      return low + (high - low) * random();
    });
    const grown = await one.extend(wanted, options);
    if (grown !== undefined) {
      const target = one.at(grown);
      while (!slices.isOver) {
        await slices.pause(signal);
        const met = await other.extend(target, options);
        if (met === undefined) break;
        if (farthest(other.at(met), target) > 1e-9) continue;
        const [forward, back] = isForward
          ? [one.way(grown), other.way(met)]
          : [other.way(met), one.way(grown)];
        return [...forward, ...back.reverse().slice(1)];
      }
    }
    [one, other] = [other, one];
    isForward = !isForward;
  }
  return undefined;
}

/** The same way with detours taken out. */
export async function smoothed(way: readonly Positions[], options: SearchOptions) {
  const { random, slices, signal } = options;
  let points = [...way];
  for (let n = 0; n < SHORTCUTS && points.length > 2 && !slices.isOver; n++) {
    await slices.pause(signal);
    // From anywhere on one leg to anywhere on a later one.
    const [a, b] = [random(), random()].map((share) => share * (points.length - 1)).sort(
      (left, right) => left - right,
    );
    const [first, last] = [Math.floor(a!), Math.floor(b!)];
    if (first === last) continue;
    const from = toward(points[first]!, points[first + 1]!, a! - first);
    const to = toward(points[last]!, points[last + 1] ?? points[last]!, b! - last);
    if (!await isWayFree(from, to, options)) continue;
    points = [...points.slice(0, first + 1), from, to, ...points.slice(last + 1)];
  }
  // Corners that are none are left out.
  for (let at = 1; at < points.length - 1;) {
    await slices.pause(signal);
    if (await isWayFree(points[at - 1]!, points[at + 1]!, options)) points.splice(at, 1);
    else at++;
  }
  return points;
}

/** Between two positions. */
function toward(from: Positions, to: Positions, share: number): number[] {
  return from.map((value, index) => value + (to[index]! - value) * share);
}

class Tree {
  readonly #nodes: Positions[];
  readonly #parents: number[];

  constructor(roots: readonly Positions[]) {
    this.#nodes = [...roots];
    this.#parents = roots.map(() => -1);
  }

  get size(): number {
    return this.#nodes.length;
  }

  at(index: number): Positions {
    return this.#nodes[index]!;
  }

  /** Grows one branch; undefined when something is in the way. */
  async extend(wanted: Positions, options: SearchOptions): Promise<number | undefined> {
    let nearest = 0;
    let least = Infinity;
    this.#nodes.forEach((node, index) => {
      let sum = 0;
      for (let joint = 0; joint < node.length; joint++) sum += (node[joint]! - wanted[joint]!) ** 2;
      if (sum < least) [least, nearest] = [sum, index];
    });
    const from = this.#nodes[nearest]!;
    const away = farthest(from, wanted);
    const to = away <= BRANCH ? wanted : toward(from, wanted, BRANCH / away);
    if (away < 1e-12) return nearest;
    if (!await isWayFree(from, to, options)) return undefined;
    this.#parents.push(nearest);
    return this.#nodes.push(to) - 1;
  }

  /** From the root to a node. */
  way(index: number): Positions[] {
    const way: Positions[] = [];
    for (let at = index; at >= 0; at = this.#parents[at]!) way.unshift(this.#nodes[at]!);
    return way;
  }
}
