/** An arm whose links are equally long and whose joints all turn around the vertical axis. */

/** Length of a link. */
export const LINK_MM = 100;

/** How far out of reach a place may be and still count as the nearest one in reach. mm. */
const TOLERANCE_MM = 0.01;

/** Halvings of the angle that is looked for; 50 leave less than a double can resolve. */
const HALVINGS = 50;

const RADIAN_DEG = 180 / Math.PI;

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where the end is, and how it is turned. Joints in degrees, base first; mm and degrees. */
export function planarEnd(degrees: readonly number[]): Point & { theta: number } {
  let [x, y, theta] = [0, 0, 0];
  for (const degree of degrees) {
    theta += degree;
    x += LINK_MM * Math.cos(theta / RADIAN_DEG);
    y += LINK_MM * Math.sin(theta / RADIAN_DEG);
  }
  return { x, y, theta };
}

/** How near to its base and how far from it the end can be. mm. */
export function planarReach(joints: number): { nearest: number; farthest: number } {
  return { nearest: joints === 1 ? LINK_MM : 0, farthest: joints * LINK_MM };
}

/**
 * Positions of that many joints, in degrees, with which the end is at `target`; undefined when it
 * is out of reach. All joints but the first are bent alike, so the links lie along a circle and the
 * end is the farther away the less they are bent.
 */
export function reachPlanar(joints: number, target: Point): number[] | undefined {
  const { nearest, farthest } = planarReach(joints);
  const away = Math.hypot(target.x, target.y);
  if (!(away <= farthest + TOLERANCE_MM && away >= nearest - TOLERANCE_MM)) return undefined;
  let [least, most] = [0, joints === 1 ? 0 : 2 * Math.PI / joints];
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (least + most) / 2;
    if (chord(joints, middle) > away) least = middle;
    else most = middle;
  }
  const first = Math.atan2(target.y, target.x) - (joints - 1) * most / 2;
  return [first, ...new Array<number>(joints - 1).fill(most)].map((angle) => angle * RADIAN_DEG);
}

/** From the base to the end when every joint but the first is bent by `angle` radians. mm. */
function chord(joints: number, angle: number): number {
  if (angle === 0) return joints * LINK_MM;
  return LINK_MM * Math.sin(joints * angle / 2) / Math.sin(angle / 2);
}
