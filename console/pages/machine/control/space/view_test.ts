import assert from "node:assert/strict";
import { axesOf, axesOfView, Extent, placeOf, project, viewOf } from "./view.ts";

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

Deno.test("axesOfView() are the directions in which project() draws", () => {
  for (const [turn, tilt] of [[0, 0], [1, 0.4], [-2, Math.PI / 2], [3, -1]] as const) {
    const view = { turn, tilt, scale: 2, centre: [1, 2, 3] as const };
    const [right, up, back] = axesOfView(view);
    const at = (axis: readonly number[]) =>
      project([1 + axis[0]!, 2 + axis[1]!, 3 + axis[2]!], view);
    near(at(right), [2, 0]);
    near(at(up), [0, -2]);
    near(at(back), [0, 0]);
    near(back, [
      right[1] * up[2] - right[2] * up[1],
      right[2] * up[0] - right[0] * up[2],
      right[0] * up[1] - right[1] * up[0],
    ]);
  }
});

Deno.test("placeOf() puts poses one into another", () => {
  near(placeOf([]), [0, 0, 0]);
  const turned = { ...pose(0, 0, 1, 90), x: 10 };
  near(placeOf([turned, { ...pose(0, 0, 1), x: 5, z: 2 }]), [10, 5, 2]);
});

Deno.test("Extent has room for all that was there, also after it went", () => {
  const extent = new Extent();
  assert.deepEqual(extent.add([]), []);
  extent.add([[1, 2, 3]]);
  const corners = extent.add([[-1, 0, 0]]);
  assert.equal(corners.length, 8);
  assert.deepEqual(corners[0], [-1, 0, 0]);
  assert.deepEqual(corners[7], [1, 2, 3]);
});
