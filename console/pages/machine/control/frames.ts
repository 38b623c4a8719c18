/** Frames of a machine in space, drawn without a library: lines and labels are all that is needed. */

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
