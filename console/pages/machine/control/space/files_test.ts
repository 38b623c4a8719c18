import assert from "node:assert/strict";
import { contentOf, type FileKind } from "./files.ts";

const read = (kind: FileKind, ...parts: (string | Uint8Array)[]) =>
  contentOf(
    kind,
    new Uint8Array(
      parts.flatMap((part) => [
        ...(typeof part === "string" ? new TextEncoder().encode(part) : part),
      ]),
    ),
  );
const floats = (...numbers: number[]) => new Uint8Array(new Float32Array(numbers).buffer);
const doubles = (...numbers: number[]) => new Uint8Array(new Float64Array(numbers).buffer);
const wholes = (...numbers: number[]) => new Uint8Array(new Uint32Array(numbers).buffer);
const CORNERS = [0, 0, 0, 1, 0, 0, 0, 0.5, 0];
const IN_MM = [0, 0, 0, 1_000, 0, 0, 0, 500, 0];

const pcd = (data: string, points = 3) =>
  `VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH ${points}\nHEIGHT 1\n` +
  `VIEWPOINT 0 0 0 1 0 0 0\nPOINTS ${points}\nDATA ${data}\n`;
const ply = (format: string, type = "float") =>
  `ply\nformat ${format} 1.0\ncomment of a test\nelement vertex 3\nproperty ${type} x\n` +
  `property ${type} y\nproperty ${type} z\nelement face 1\n` +
  "property list uchar int vertex_indices\nend_header\n";

/** What LZF makes of bytes that it does not compress. */
function literal(bytes: Uint8Array): Uint8Array {
  const runs = [];
  for (let at = 0; at < bytes.length; at += 32) {
    const run = bytes.subarray(at, at + 32);
    runs.push(run.length - 1, ...run);
  }
  return new Uint8Array(runs);
}

Deno.test("contentOf() reads points as text, binary and compressed", () => {
  const text = read("pcd", pcd("ascii"), "0 0 0\n1 0 0\n0 .5 0\n");
  assert.deepEqual([...text?.positions ?? []], IN_MM);
  assert.equal(text?.index, undefined);
  const binary = read("pcd", pcd("binary"), floats(...CORNERS));
  assert.deepEqual([...binary?.positions ?? []], IN_MM);
  // One axis after the other.
  const packed = literal(floats(0, 1, 0, 0, 0, 0.5, 0, 0, 0));
  const compressed = read("pcd", pcd("binary_compressed"), wholes(packed.length, 36), packed);
  assert.deepEqual([...compressed?.positions ?? []], IN_MM);
});

Deno.test("contentOf() leaves out points that a camera did not see", () => {
  const text = read("pcd", pcd("ascii"), "nan nan nan\r\n1 2 3\r\nnan 0 0\r\n \r\n");
  assert.deepEqual([...text?.positions ?? []], [1_000, 2_000, 3_000]);
  const binary = read("pcd", pcd("binary", 2), floats(NaN, NaN, NaN, 1, 2, 3));
  assert.deepEqual([...binary?.positions ?? []], [1_000, 2_000, 3_000]);
  assert.equal(read("pcd", pcd("binary", 1), floats(NaN, NaN, NaN)), undefined);
});

Deno.test("contentOf() reads meshes as text and binary, whatever numbers they have", () => {
  const faces = new Uint8Array([3, ...wholes(0, 1, 2)]);
  for (const type of ["float", "double"] as const) {
    const bytes = (type === "float" ? floats : doubles)(...CORNERS);
    const all = [
      read("ply", ply("ascii", type), "0 0 0\n1 0 0\n0 .5 0\n3 0 1 2\n"),
      read("ply", ply("binary_little_endian", type), bytes, faces),
    ];
    for (const content of all) {
      assert.ok(content?.positions instanceof Float32Array, type);
      assert.deepEqual([...content.positions], IN_MM);
      assert.deepEqual([...content.index ?? []], [0, 1, 2]);
    }
  }
  const whole = read("ply", ply("ascii", "uchar"), "0 0 0\n1 0 0\n0 2 0\n3 0 1 2\n");
  assert.deepEqual([...whole?.positions ?? []], [0, 0, 0, 1_000, 0, 0, 0, 2_000, 0]);
  const facet = new Uint8Array([...floats(0, 0, 1, ...CORNERS), 0, 0]);
  const stl = [
    read("stl", new Uint8Array(80), wholes(1), facet),
    read(
      "stl",
      "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 .5 0\n" +
        "endloop\nendfacet\nendsolid a\n",
    ),
  ];
  for (const content of stl) assert.deepEqual([...content?.positions ?? []], IN_MM);
});

Deno.test("contentOf() reads nothing from files that are damaged, or whose sizes are not true", () => {
  const files: [FileKind, ...(string | Uint8Array)[]][] = [
    ["pcd", "no points"],
    ["pcd", pcd("binary", 4), floats(...CORNERS)],
    ["pcd", pcd("binary", 4e9), floats(...CORNERS)],
    ["pcd", pcd("binary_compressed"), wholes(4e9, 4e9), "x"],
    ["pcd", pcd("binary_compressed"), wholes(1, 4e9), "x"],
    ["ply", "ply\n"],
    ["ply", ply("binary_little_endian"), floats(...CORNERS)],
    ["ply", ply("ascii"), "0 0 0\n1 0 0\n0 .5 0\n3 0 1 7\n"],
    ["ply", ply("ascii"), "0 0 0\n1 0 0\n0 infinity 0\n3 0 1 2\n"],
    ["stl", new Uint8Array(80), wholes(4e9), "x"],
    ["stl", "solid nothing"],
  ];
  for (const [kind, ...parts] of files) {
    const name = `${kind} ${parts.map(String).join("").slice(-40)}`;
    assert.equal(read(kind, ...parts), undefined, name);
  }
});
