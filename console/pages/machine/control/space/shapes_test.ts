import assert from "node:assert/strict";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { GeometrySchema } from "../../../../../shared/gen/viam/common/v1/common_pb.ts";
import { keyOf, LARGEST_FILE, ORIGIN, shapeOf } from "./shapes.ts";

const of = (geometry: MessageInitShape<typeof GeometrySchema>) =>
  shapeOf(create(GeometrySchema, geometry), { role: "part", name: "base", in: [ORIGIN] });
const mesh = (contentType: string, size: number) => ({
  geometryType: { case: "mesh" as const, value: { contentType, mesh: new Uint8Array(size) } },
});

Deno.test("shapeOf() takes boxes, spheres, points, capsules, meshes and points of a cloud", () => {
  const box = of({
    ...{ label: "bumper", center: { x: 1, oZ: 1 } },
    geometryType: { case: "box", value: { dimsMm: { x: 1, y: 2, z: 3 } } },
  });
  assert.equal(box?.name, "bumper");
  assert.deepEqual(box?.form, { kind: "box", x: 1, y: 2, z: 3 });
  assert.deepEqual(box?.at.map(({ x }) => x), [0, 1]);
  const point = of({ geometryType: { case: "sphere", value: { radiusMm: 0 } } });
  assert.equal(point?.name, "base");
  assert.deepEqual(point?.form, { kind: "sphere", radius: 5 });
  const capsule = of({ geometryType: { case: "capsule", value: { radiusMm: 2, lengthMm: 9 } } });
  assert.deepEqual(capsule?.form, { kind: "capsule", radius: 2, length: 9 });
  for (const type of ["stl", "model/stl", "PLY", "wheel.ply"]) {
    assert.match(of(mesh(type, 8))?.form.kind ?? "", /^(stl|ply)$/);
  }
  const cloud = of({
    geometryType: { case: "pointcloud", value: { pointCloud: new Uint8Array(3) } },
  });
  assert.equal(cloud?.form.kind, "pcd");
});

Deno.test("shapeOf() leaves out what has no size, no place, or a file of another kind or too large", () => {
  const nowhere = [
    {},
    mesh("obj", 8),
    mesh("stl", 0),
    mesh("stl", LARGEST_FILE + 1),
    { geometryType: { case: "sphere" as const, value: { radiusMm: NaN } } },
    { geometryType: { case: "capsule" as const, value: { radiusMm: -1, lengthMm: 3 } } },
    {
      center: { x: Infinity },
      geometryType: { case: "sphere" as const, value: { radiusMm: 1 } },
    },
    {
      center: { z: -1e300, oZ: 1 },
      geometryType: { case: "sphere" as const, value: { radiusMm: 1 } },
    },
    { geometryType: { case: "sphere" as const, value: { radiusMm: 1e300 } } },
  ];
  for (const geometry of nowhere) assert.equal(of(geometry), undefined);
});

Deno.test("keyOf() is equal for equal forms only", () => {
  const file = (...bytes: number[]) => ({ kind: "stl" as const, file: new Uint8Array(bytes) });
  assert.equal(keyOf(file(1, 2)), keyOf(file(1, 2)));
  assert.notEqual(keyOf(file(1, 2)), keyOf(file(2, 1)));
  assert.notEqual(keyOf(file(1, 2)), keyOf({ ...file(1, 2), kind: "ply" }));
  assert.notEqual(keyOf({ kind: "sphere", radius: 1 }), keyOf({ kind: "sphere", radius: 2 }));
});
