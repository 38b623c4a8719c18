/** Frames and shapes in space: from where they are looked at, and where a point is in the picture. */

export type Vector = readonly [x: number, y: number, z: number];

/** A pose as machines tell it: millimetres, an orientation vector, and degrees around it. */
export interface PoseLike {
  readonly x: number;
  readonly y: number;
  readonly z: number;
  readonly oX: number;
  readonly oY: number;
  readonly oZ: number;
  readonly theta: number;
}

/** From where the frames are looked at. */
export interface View {
  /** Around the vertical axis, and up from the ground; radians. */
  readonly turn: number;
  readonly tilt: number;
  /** Pixels a millimetre. */
  readonly scale: number;
  /** What stands in the middle of the picture; millimetres. */
  readonly centre: Vector;
}

const POLE = 1e-6;

/**
 * The three axes of a frame in that of its observer: the columns of Rz(longitude) · Ry(latitude) ·
 * Rz(theta), where the orientation vector gives longitude and latitude. Without one: no rotation.
 */
export function axesOf({ oX, oY, oZ, theta }: PoseLike): readonly [Vector, Vector, Vector] {
  const length = Math.hypot(oX, oY, oZ);
  const z = length === 0 ? 1 : oZ / length;
  const latitude = Math.acos(Math.min(1, Math.max(-1, z)));
  const isPole = 1 - Math.abs(z) < POLE;
  const longitude = isPole ? 0 : Math.atan2(oY, oX);
  const angle = theta * Math.PI / 180;
  const rotated = (v: Vector): Vector => {
    const [x1, y1] = [
      v[0] * Math.cos(angle) - v[1] * Math.sin(angle),
      v[0] * Math.sin(angle) + v[1] * Math.cos(angle),
    ];
    const [x2, z2] = [
      x1 * Math.cos(latitude) + v[2] * Math.sin(latitude),
      -x1 * Math.sin(latitude) + v[2] * Math.cos(latitude),
    ];
    return [
      x2 * Math.cos(longitude) - y1 * Math.sin(longitude),
      x2 * Math.sin(longitude) + y1 * Math.cos(longitude),
      z2,
    ];
  };
  return [rotated([1, 0, 0]), rotated([0, 1, 0]), rotated([0, 0, 1])];
}

/** Where the innermost of poses that stand in one another is, seen from where the outermost is. */
export function placeOf(poses: readonly PoseLike[]): Vector {
  return poses.reduceRight<Vector>((point, pose) => {
    const axes = axesOf(pose);
    const along = (at: 0 | 1 | 2) =>
      point[0] * axes[0][at] + point[1] * axes[1][at] + point[2] * axes[2][at];
    return [pose.x + along(0), pose.y + along(1), pose.z + along(2)];
  }, [0, 0, 0]);
}

/** Where a point is in the picture, in pixels from its middle: parallel lines stay parallel. */
export function project(point: Vector, { turn, tilt, scale, centre }: View): [number, number] {
  const [x, y, z] = [point[0] - centre[0], point[1] - centre[1], point[2] - centre[2]];
  const right = x * Math.cos(turn) - y * Math.sin(turn);
  const away = x * Math.sin(turn) + y * Math.cos(turn);
  return [right * scale, -(z * Math.cos(tilt) + away * Math.sin(tilt)) * scale];
}

/** A view in which all points are seen. @param size pixels of the shorter side */
export function viewOf(points: readonly Vector[], size: number, turn: number, tilt: number): View {
  const middle = (axis: 0 | 1 | 2): number => {
    const values = points.map((point) => point[axis]);
    return (Math.min(0, ...values) + Math.max(0, ...values)) / 2;
  };
  const centre: Vector = [middle(0), middle(1), middle(2)];
  const farthest = Math.max(
    ...[[0, 0, 0] as const, ...points].map((point) =>
      Math.hypot(point[0] - centre[0], point[1] - centre[1], point[2] - centre[2])
    ),
  );
  return { turn, tilt, centre, scale: size / 2.6 / Math.max(farthest, 50) };
}

/** The axes of the picture in the world: to its right, to its top, and out of it. */
export function axesOfView({ turn, tilt }: View): readonly [Vector, Vector, Vector] {
  const [sin, cos] = [Math.sin(turn), Math.cos(turn)];
  const [up, flat] = [Math.sin(tilt), Math.cos(tilt)];
  return [[cos, -sin, 0], [sin * up, cos * up, flat], [-sin * flat, -cos * flat, up]];
}

/** The corners of the box around points, which never shrinks: the picture stands still. */
export class Extent {
  #low: [number, number, number] = [Infinity, Infinity, Infinity];
  #high: [number, number, number] = [-Infinity, -Infinity, -Infinity];

  add(points: readonly Vector[]): readonly Vector[] {
    for (const point of points) {
      for (const axis of [0, 1, 2] as const) {
        this.#low[axis] = Math.min(this.#low[axis], point[axis]);
        this.#high[axis] = Math.max(this.#high[axis], point[axis]);
      }
    }
    const [low, high] = [this.#low, this.#high];
    if (low[0] > high[0]) return [];
    return [0, 1, 2, 3, 4, 5, 6, 7].map((at) => [
      (at & 1) === 0 ? low[0] : high[0],
      (at & 2) === 0 ? low[1] : high[1],
      (at & 4) === 0 ? low[2] : high[2],
    ]);
  }
}
