/** An arm whose links are equally long and whose joints all turn around the vertical axis. */

/** Length of a link. */
export const LINK_MM = 100;

/** How near the end must come to count as there. mm. */
const CLOSE_ENOUGH_MM = 0.01;

/** Rounds over all joints before a place counts as out of reach; the search converges slowly there. */
const MOST_ROUNDS = 2_000;

const RADIAN_DEG = 180 / Math.PI;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where the end is, and how it is turned. Joints in degrees, base first; mm and degrees. */
export function planarEnd(degrees: readonly number[]): Point & { theta: number } {
  const [end] = pointsFromEnd(degrees);
  return { ...end!, theta: degrees.reduce((sum, angle) => sum + angle, 0) };
}

/** How near to its base and how far from it the end can be. mm. */
export function planarReach(joints: number): { nearest: number; farthest: number } {
  return { nearest: joints === 1 ? LINK_MM : 0, farthest: joints * LINK_MM };
}

/**
 * Joints with which the end is at `target`, near those of `from`; undefined when it is out of reach.
 * Cyclic coordinate descent: each joint in turn points the end at the target.
 */
export function reachPlanar(from: readonly number[], target: Point): number[] | undefined {
  const { nearest, farthest } = planarReach(from.length);
  const away = Math.hypot(target.x, target.y);
  if (away > farthest + CLOSE_ENOUGH_MM || away < nearest - CLOSE_ENOUGH_MM) return undefined;
  const degrees = [...from];
  // Stretched out straight, no single joint brings the end nearer to its base.
  if (degrees.slice(1).every((angle) => angle === 0)) degrees.fill(10, 1);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    for (let joint = degrees.length - 1; joint >= 0; joint--) {
      const points = pointsFromEnd(degrees);
      const end = points[0]!;
      const pivot = points[points.length - 1 - joint]!;
      const turn = (angleTo(pivot, target) - angleTo(pivot, end)) * RADIAN_DEG;
      degrees[joint] = halfTurn(degrees[joint]! + turn);
    }
    const end = planarEnd(degrees);
    if (Math.hypot(end.x - target.x, end.y - target.y) <= CLOSE_ENOUGH_MM) return degrees;
  }
  return undefined;
}

/** The end, then the joints from the last to the base. */
function pointsFromEnd(degrees: readonly number[]): Point[] {
  const points: Point[] = [{ x: 0, y: 0 }];
  let angle = 0;
  for (const degree of degrees) {
    angle += degree / RADIAN_DEG;
    const before = points[0]!;
    points.unshift({
      x: before.x + LINK_MM * Math.cos(angle),
      y: before.y + LINK_MM * Math.sin(angle),
    });
  }
  return points;
}

function angleTo(from: Point, to: Point): number {
  return Math.atan2(to.y - from.y, to.x - from.x);
}

/** The same angle from -180 to 180 degrees. */
function halfTurn(degrees: number): number {
  return degrees - 360 * Math.round(degrees / 360);
}
