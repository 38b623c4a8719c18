import assert from "node:assert/strict";
import { axesOf, project, viewOf } from "./frames.ts";

const near = (a: readonly number[], b: readonly number[]) =>
  a.forEach((value, at) => assert.ok(Math.abs(value - b[at]!) < 1e-6, `${a} is not ${b}`));
const pose = (oX: number, oY: number, oZ: number, theta = 0) => ({
  ...{ x: 0, y: 0, z: 0, oX, oY, oZ, theta },
});

Deno.test("axesOf() turns by the orientation vector, and around it", () => {
  for (const same of [pose(0, 0, 1), pose(0, 0, 0)]) {
    near(axesOf(same).flat(), [1, 0, 0, 0, 1, 0, 0, 0, 1]);
  }
  near(axesOf(pose(0, 0, 1, 90)).flat(), [0, 1, 0, -1, 0, 0, 0, 0, 1]);
  near(axesOf(pose(1, 0, 0))[2], [1, 0, 0]);
  near(axesOf(pose(0, 5, 0))[2], [0, 1, 0]);
  near(axesOf(pose(0, 0, -1))[2], [0, 0, -1]);
  const [x, y, z] = axesOf(pose(0.3, -0.4, 0.5, 33));
  near(z, [0.3, -0.4, 0.5].map((value) => value / Math.hypot(0.3, 0.4, 0.5)));
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, at) => sum + value * b[at]!, 0);
  near([dot(x, y), dot(y, z), dot(x, x)], [0, 0, 1]);
});

Deno.test("viewOf() has all points in the picture, and project() puts up above", () => {
  const points = [[0, 0, 500], [1_000, 0, 0], [0, -200, 0]] as const;
  for (const turn of [0, 1, 3]) {
    const view = viewOf(points, 300, turn, 0.5);
    for (const point of points) {
      const [x, y] = project(point, view);
      assert.ok(Math.abs(x) <= 150 && Math.abs(y) <= 150, `${x} ${y}`);
    }
    assert.ok(project([0, 0, 500], view)[1] < project([0, 0, 0], view)[1]);
  }
  assert.ok(Number.isFinite(viewOf([], 300, 0, 0).scale));
});
