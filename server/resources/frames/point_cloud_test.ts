import assert from "node:assert/strict";
import { pcd } from "../../models/fake/point_cloud.ts";
import { transformPointCloud } from "./point_cloud.ts";
import { ofPoseMessage } from "./pose.ts";

/** One metre along x, and a quarter turn to the left. */
const WAY = ofPoseMessage({ x: 1_000, y: 0, z: 0, oX: 0, oY: 0, oZ: 1, theta: 90 });

const bytes = (text: string) => new TextEncoder().encode(text);

function file(lines: readonly string[], data = "ascii", fields = "x y z i"): Uint8Array {
  return bytes([
    "# .PCD v0.7",
    "VERSION 0.7",
    `FIELDS ${fields}`,
    "SIZE 4 4 4 4",
    "TYPE F F F U",
    "COUNT 1 1 1 1",
    "WIDTH 2",
    "HEIGHT 1",
    "POINTS 2",
    `DATA ${data}`,
    ...lines,
    "",
  ].join("\n"));
}

Deno.test("transformPointCloud() moves binary points and keeps their colours", () => {
  const cloud = pcd([
    { x: 2, y: 0, z: 0.5, color: [1, 2, 3] },
    { x: 0, y: 3, z: 0, color: [255, 0, 9] },
  ]);
  const moved = pcd([
    { x: 1, y: 2, z: 0.5, color: [1, 2, 3] },
    { x: -2, y: 0, z: 0, color: [255, 0, 9] },
  ]);
  const found = transformPointCloud(cloud, WAY);
  const header = cloud.length - 2 * 16;
  assert.deepEqual(found.subarray(0, header), moved.subarray(0, header));
  const [have, want] = [found, moved].map((one) => new DataView(one.slice(header).buffer));
  for (let at = 0; at < 32; at += 16) {
    for (const axis of [0, 4, 8]) {
      const difference = have!.getFloat32(at + axis, true) - want!.getFloat32(at + axis, true);
      assert.ok(Math.abs(difference) < 1e-6, `byte ${at + axis} is off by ${difference}`);
    }
    assert.equal(have!.getInt32(at + 12, true), want!.getInt32(at + 12, true));
  }
});

Deno.test("transformPointCloud() moves points that are text, in any order of fields", () => {
  const text = new TextDecoder().decode(
    transformPointCloud(file(["2 0.5 0 7", "nan nan nan 8"], "ascii", "x z y i"), WAY),
  );
  const [first, second] = text.trim().split("\n").slice(-2).map((line) => line.split(" "));
  assert.ok(Math.abs(Number(first![0]) - 1) < 1e-9 && Math.abs(Number(first![2]) - 2) < 1e-9);
  assert.deepEqual([first![1], first![3]], ["0.5", "7"]);
  assert.deepEqual(second, ["NaN", "NaN", "NaN", "8"]);
});

Deno.test("transformPointCloud() says what is wrong with a file", () => {
  const problem = (cloud: Uint8Array) => {
    try {
      transformPointCloud(cloud, WAY);
      return "no problem";
    } catch (error) {
      return (error as Error).message.replace(/^.*no point cloud: /, "");
    }
  };
  assert.equal(problem(bytes("hello")), "it has no line DATA at the end of a header");
  assert.equal(problem(file(["1 2 3 4"])), "it has 1 lines; 2 points need one each");
  assert.equal(problem(file(["1 2 3 4", "1 a 3 4"])), "point 2 has no numbers for x, y and z");
  assert.equal(
    problem(file([], "binary_compressed")),
    "its points are binary_compressed; send them as binary or ascii",
  );
  assert.match(problem(file(["1234"], "binary")), /^it ends after \d+ bytes; 2 points need \d+$/);
  assert.equal(
    problem(file([], "ascii", "x y w i")),
    "it has no field z of type F and size 4 or 8",
  );
});
