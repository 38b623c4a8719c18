/** What files of meshes (PLY, STL) take up. Only the box around all their points is looked at. */
import type { Mesh } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { Vector } from "./pose.ts";

/** A box along the axes of the mesh. Millimetres. */
export interface MeshBox {
  readonly center: Vector;
  readonly half: Vector;
}

/** Files have metres, as those of URDF do. */
const MM = 1_000;
const LARGEST = 4 * 1024 * 1024;
const LONGEST_HEADER = 4_096;
const STL_HEADER = 84;
const STL_TRIANGLE = 50;

const SIZES: Readonly<Record<string, number>> = {
  ...{ char: 1, uchar: 1, int8: 1, uint8: 1, short: 2, ushort: 2, int16: 2, uint16: 2 },
  ...{ int: 4, uint: 4, int32: 4, uint32: 4, float: 4, float32: 4, double: 8, float64: 8 },
};

/** While a way is looked for, each is needed over and over. */
const known = new WeakMap<Mesh, MeshBox>();

/**
 * The box around a mesh, seen from the mesh's own frame.
 *
 * @throws {Error} for a file that is missing, damaged, of another kind or too large, in words that
 * follow "the mesh".
 */
export function meshBox(mesh: Mesh): MeshBox {
  const before = known.get(mesh);
  if (before) return before;
  const box = around(pointsOf(mesh));
  known.set(mesh, box);
  return box;
}

function pointsOf({ contentType, mesh }: Mesh): Iterable<readonly number[]> {
  if (mesh.length === 0) throw new Error("is without its file");
  if (mesh.length > LARGEST) {
    throw new Error(`has ${mesh.length} bytes; at most ${LARGEST} are considered`);
  }
  switch (contentType.toLowerCase().replace(/^.*[/.]/, "")) {
    case "ply":
      return pointsOfPly(mesh);
    case "stl":
      return pointsOfStl(mesh);
  }
  throw new Error(`is of type ${contentType || "nothing"}; ply and stl are considered`);
}

function around(points: Iterable<readonly number[]>): MeshBox {
  const [low, high] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  for (const point of points) {
    for (let axis = 0; axis < 3; axis++) {
      const value = point[axis] ?? NaN;
      if (!Number.isFinite(value)) throw new Error("has a point without numbers");
      if (value < low[axis]!) low[axis] = value;
      if (value > high[axis]!) high[axis] = value;
    }
  }
  if (low[0] === Infinity) throw new Error("has no points");
  const vector = (of: (low: number, high: number) => number): Vector => ({
    x: of(low[0]!, high[0]!) * MM,
    y: of(low[1]!, high[1]!) * MM,
    z: of(low[2]!, high[2]!) * MM,
  });
  return {
    center: vector((low, high) => (low + high) / 2),
    half: vector((low, high) => (high - low) / 2),
  };
}

/** Binary files say how many triangles follow; text begins with `solid`. */
function* pointsOfStl(file: Uint8Array): Iterable<number[]> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const count = file.length >= STL_HEADER ? view.getUint32(STL_HEADER - 4, true) : 0;
  if (file.length >= STL_HEADER && file.length === STL_HEADER + count * STL_TRIANGLE) {
    for (let n = 0; n < count; n++) {
      for (let corner = 1; corner <= 3; corner++) {
        const at = STL_HEADER + n * STL_TRIANGLE + corner * 12;
        yield [0, 4, 8].map((offset) => view.getFloat32(at + offset, true));
      }
    }
    return;
  }
  const text = new TextDecoder().decode(file);
  if (!/^\s*solid/.test(text)) throw new Error("is no STL: its length does not fit its triangles");
  for (const [, x, y, z] of text.matchAll(/\bvertex\s+(\S+)\s+(\S+)\s+(\S+)/g)) {
    yield [Number(x), Number(y), Number(z)];
  }
}

function* pointsOfPly(file: Uint8Array): Iterable<number[]> {
  const head = new TextDecoder("latin1").decode(file.subarray(0, LONGEST_HEADER));
  const end = /^end_header\r?\n/m.exec(head);
  const format = /^format +(ascii|binary_little_endian|binary_big_endian)/m.exec(head)?.[1];
  if (!head.startsWith("ply") || !end || !format) throw new Error("is no PLY: its header is not");
  const header = head.slice(0, end.index);
  const [, count] = /^element +vertex +(\d+)/m.exec(header) ?? [];
  if (count === undefined || /^element +(?!vertex\b)[^]*^element +vertex/m.test(header)) {
    throw new Error("is a PLY whose vertices do not come first");
  }
  const properties = header.slice(header.indexOf("element vertex")).split(/^element /m)[1]!
    .matchAll(/^property +(\S+) +(\S+)/gm);
  const start = end.index + end[0].length;
  yield* verticesOf(file, start, Number(count), [...properties], format);
}

function* verticesOf(
  file: Uint8Array,
  start: number,
  count: number,
  properties: readonly RegExpExecArray[],
  format: string,
): Iterable<number[]> {
  const places = ["x", "y", "z"].map((axis) => properties.findIndex(([, , name]) => name === axis));
  if (places.includes(-1)) throw new Error("is a PLY whose vertices have no x, y and z");
  if (format === "ascii") {
    const lines = new TextDecoder().decode(file.subarray(start)).split("\n");
    if (lines.length < count) throw new Error(`has fewer than its ${count} points`);
    for (const line of lines.slice(0, count)) {
      const words = line.trim().split(/\s+/);
      yield places.map((place) => Number(words[place] || NaN));
    }
    return;
  }
  const sizes = properties.map(([, type = ""]) => SIZES[type] ?? NaN);
  const length = sizes.reduce((sum, size) => sum + size, 0);
  if (!(start + count * length <= file.length)) {
    throw new Error(`has fewer than its ${count} points`);
  }
  const offsets = places.map((place) => sizes.slice(0, place).reduce((sum, size) => sum + size, 0));
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const isLittle = format === "binary_little_endian";
  for (let at = start; at < start + count * length; at += length) {
    yield places.map((place, axis) => {
      const type = properties[place]![1]!;
      const where = at + offsets[axis]!;
      if (type === "double" || type === "float64") return view.getFloat64(where, isLittle);
      if (type === "float" || type === "float32") return view.getFloat32(where, isLittle);
      return NaN;
    });
  }
}
