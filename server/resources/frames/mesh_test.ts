import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { MeshSchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { meshBox } from "./mesh.ts";

const text = (lines: string[]) => new TextEncoder().encode(lines.join("\n") + "\n");
const boxOf = (contentType: string, mesh: Uint8Array<ArrayBuffer>) =>
  meshBox(create(MeshSchema, { contentType, mesh }));

/** From -0.1 to 0.3, from 0 to 0.2 and from 1 to 1.5 metres. */
const POINTS = [[-0.1, 0, 1], [0.3, 0.2, 1.25], [0, 0.1, 1.5]];
const BOX = { center: { x: 100, y: 100, z: 1_250 }, half: { x: 200, y: 100, z: 250 } };

function near(box: ReturnType<typeof meshBox>): void {
  for (const key of ["center", "half"] as const) {
    for (const axis of ["x", "y", "z"] as const) {
      assert.ok(Math.abs(box[key][axis] - BOX[key][axis]) < 0.01, JSON.stringify(box));
    }
  }
}

function ply(format: string, more: string[] = []): string[] {
  return [
    ...["ply", `format ${format} 1.0`, "comment of a test", "element vertex 3"],
    ...["property uchar red", "property float x", "property double y", "property float z"],
    ...["element face 1", "property list uchar int vertex_indices", ...more, "end_header"],
  ];
}

Deno.test("meshBox() reads PLY as text and in both binary orders", () => {
  const lines = POINTS.map(([x, y, z]) => `7 ${x} ${y} ${z}`);
  near(boxOf("ply", text([...ply("ascii"), ...lines, "3 0 1 2"])));
  for (const isLittle of [true, false]) {
    const body = new DataView(new ArrayBuffer(3 * 17));
    POINTS.forEach(([x, y, z], index) => {
      body.setFloat32(index * 17 + 1, x!, isLittle);
      body.setFloat64(index * 17 + 5, y!, isLittle);
      body.setFloat32(index * 17 + 13, z!, isLittle);
    });
    const head = text(ply(isLittle ? "binary_little_endian" : "binary_big_endian"));
    near(boxOf("ply", new Uint8Array([...head, ...new Uint8Array(body.buffer)])));
  }
});

Deno.test("meshBox() reads STL as text and in binary", () => {
  const corners = POINTS.map(([x, y, z]) => `vertex ${x} ${y} ${z}`);
  near(boxOf("stl", text(["solid thing", "facet normal 0 0 1", "outer loop", ...corners])));
  const body = new DataView(new ArrayBuffer(84 + 50));
  body.setUint32(80, 1, true);
  POINTS.flat().forEach((value, index) => body.setFloat32(84 + 12 + index * 4, value, true));
  near(boxOf("model/stl", new Uint8Array(body.buffer)));
});

Deno.test("meshBox() says what is wrong with a file", () => {
  const is = (contentType: string, mesh: Uint8Array<ArrayBuffer>, wrong: RegExp) =>
    assert.throws(() => boxOf(contentType, mesh), wrong);
  is("ply", new Uint8Array(), /without its file/);
  is("obj", text(["v 0 0 0"]), /of type obj; ply and stl/);
  is("ply", text(["nonsense"]), /no PLY/);
  is("ply", text(ply("ascii").slice(0, -3)), /no PLY/);
  is("ply", text([...ply("ascii"), "7 0 0 nan", "7 0 0 0", "7 0 0 0"]), /without numbers/);
  is("ply", text([...ply("binary_little_endian"), "abc"]), /fewer than its 3 points/);
  is("ply", text(["ply", "format ascii 1.0", "element vertex 0", "end_header"]), /no x, y and z/);
  is("stl", text(["solid empty", "endsolid empty"]), /no points/);
  is("stl", new Uint8Array(90), /no STL/);
  is("stl", new Uint8Array(4 * 1024 * 1024 + 1), /at most/);
});
