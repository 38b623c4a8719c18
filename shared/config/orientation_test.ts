import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { toOrientationVector } from "./orientation.ts";
import type { Orientation } from "./resources.ts";

const HALF = Math.SQRT1_2;

// Rotations whose result is known without a calculation: [what, orientation, x, y, z, theta].
const CASES: [string, Orientation, number, number, number, number][] = [
  ["vector in degrees", { type: "ov_degrees", value: { x: 1, y: 0, z: 0, th: 45 } }, 1, 0, 0, 45],
  ["vector in radians", { type: "ov_radians", value: { z: 1, th: Math.PI } }, 0, 0, 1, 180],
  ["unit quaternion", { type: "quaternion", value: { W: 1 } }, 0, 0, 1, 0],
  ["quaternion, 90° about z", { type: "quaternion", value: { W: HALF, Z: HALF } }, 0, 0, 1, 90],
  ["quaternion, 90° about y", { type: "quaternion", value: { w: HALF, y: HALF } }, 1, 0, 0, 0],
  ["quaternion, not of length 1", { type: "quaternion", value: { w: 2, y: 2 } }, 1, 0, 0, 0],
  ["quaternion, 180° about y", { type: "quaternion", value: { y: 1 } }, 0, 0, -1, 0],
  ["quaternion, 90° about x", { type: "quaternion", value: { w: HALF, x: HALF } }, 0, -1, 0, 90],
  ["axis z, 90°", { type: "axis_angles", value: { z: 2, th: Math.PI / 2 } }, 0, 0, 1, 90],
  ["axis y, 90°", { type: "axis_angles", value: { y: 1, th: Math.PI / 2 } }, 1, 0, 0, 0],
  ["axis of length 0", { type: "axis_angles", value: { th: 1 } }, 0, 0, 1, 0],
  ["yaw 90°", { type: "euler_angles", value: { yaw: Math.PI / 2 } }, 0, 0, 1, 90],
  ["pitch 90°", { type: "euler_angles", value: { pitch: Math.PI / 2 } }, 1, 0, 0, 0],
  ["roll 90°", { type: "euler_angles", value: { roll: Math.PI / 2 } }, 0, -1, 0, 90],
  [
    "pitch 90° then yaw 90° about the old z",
    { type: "euler_angles", value: { pitch: Math.PI / 2, yaw: Math.PI / 2 } },
    0,
    1,
    0,
    0,
  ],
];

for (const [what, orientation, x, y, z, theta] of CASES) {
  Deno.test(`toOrientationVector() points where it should when given: ${what}`, () => {
    const vector = toOrientationVector(orientation);
    const expected = { x, y, z, theta };
    for (const key of ["x", "y", "z", "theta"] as const) {
      const distance = Math.abs((vector?.[key] ?? NaN) - expected[key]);
      strictEqual(distance < 1e-9, true, `${key}: ${JSON.stringify(vector)}`);
    }
  });
}

Deno.test("toOrientationVector() is undefined when there is no rotation", () => {
  const none: (Orientation | undefined)[] = [undefined, {}, { type: "" }];
  deepStrictEqual(none.map(toOrientationVector), [undefined, undefined, undefined]);
});
