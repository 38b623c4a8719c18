/** Reads and writes clouds of points as PCD files (0.7, ascii and binary). Pure. */

/** Points with their place in metres, three numbers each, and colours where the file has them. */
export interface PointCloud {
  readonly points: Float32Array;
  /** Red, green and blue in the lower 24 bits, one a point. */
  readonly colours?: Uint32Array;
}

/** A file that is no cloud of points, or one of a form that is not read here. */
export class PointCloudError extends Error {
  override readonly name = "PointCloudError";
}

const MOST_POINTS = 20_000_000;
const MOST_HEAD_BYTES = 4_096;

interface Head {
  readonly fields: readonly string[];
  readonly sizes: readonly number[];
  readonly types: readonly string[];
  readonly count: number;
  readonly form: string;
  readonly bytes: number;
}

/** @throws {PointCloudError} */
export function readPcd(file: Uint8Array): PointCloud {
  const head = readHead(file);
  const [x, y, z] = ["x", "y", "z"].map((name) => head.fields.indexOf(name));
  if (x === undefined || y === undefined || z === undefined || Math.min(x, y, z) < 0) {
    throw new PointCloudError("the point cloud has not the fields x, y and z");
  }
  const rgb = head.fields.indexOf("rgb");
  const points = new Float32Array(head.count * 3);
  const colours = rgb < 0 ? undefined : new Uint32Array(head.count);
  const value = head.form === "ascii" ? asciiValues(file, head) : binaryValues(file, head);
  for (let index = 0; index < head.count; index++) {
    points[index * 3] = value(index, x);
    points[index * 3 + 1] = value(index, y);
    points[index * 3 + 2] = value(index, z);
    if (colours) colours[index] = colourOf(value(index, rgb), head.types[rgb]);
  }
  return { points, ...(colours && { colours }) };
}

/** The file, binary. */
export function writePcd({ points, colours }: PointCloud): Uint8Array<ArrayBuffer> {
  const count = points.length / 3;
  const [more, bytes] = colours ? [[" rgb", " 4", " I", " 1"], 16] : [["", "", "", ""], 12];
  const head = new TextEncoder().encode(
    `VERSION .7\nFIELDS x y z${more[0]}\nSIZE 4 4 4${more[1]}\nTYPE F F F${more[2]}\n` +
      `COUNT 1 1 1${more[3]}\nWIDTH ${count}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\n` +
      `POINTS ${count}\nDATA binary\n`,
  );
  const file = new Uint8Array(head.length + count * bytes);
  file.set(head);
  const view = new DataView(file.buffer, head.length);
  for (let index = 0; index < count; index++) {
    for (let axis = 0; axis < 3; axis++) {
      view.setFloat32(index * bytes + axis * 4, points[index * 3 + axis] ?? 0, true);
    }
    if (colours) view.setUint32(index * bytes + 12, colours[index] ?? 0, true);
  }
  return file;
}

function readHead(file: Uint8Array): Head {
  const text = new TextDecoder("latin1").decode(file.subarray(0, MOST_HEAD_BYTES));
  const data = /(?:^|\n)DATA +(\S+)[^\n]*\n/.exec(text);
  if (!data) throw new PointCloudError("the point cloud has no head of a PCD file");
  const line = (key: string) =>
    new RegExp(`(?:^|\\n)${key} +([^\\n]*)`).exec(text)?.[1]?.trim().split(/\s+/) ?? [];
  const fields = line("FIELDS");
  const count = Number(line("POINTS")[0] ?? Number(line("WIDTH")[0]) * Number(line("HEIGHT")[0]));
  if (!Number.isInteger(count) || count < 0 || count > MOST_POINTS) {
    throw new PointCloudError(`the point cloud says that it has ${count} points`);
  }
  if (line("COUNT").some((each) => each !== "1")) {
    throw new PointCloudError("the point cloud has fields of several values, which are not read");
  }
  const form = data[1] ?? "";
  if (form !== "ascii" && form !== "binary") {
    throw new PointCloudError(`the point cloud holds ${form} data; ascii and binary are read`);
  }
  const bytes = data.index + data[0].length;
  return { fields, sizes: line("SIZE").map(Number), types: line("TYPE"), count, form, bytes };
}

function asciiValues(file: Uint8Array, { fields, bytes }: Head) {
  const values = new TextDecoder().decode(file.subarray(bytes)).split(/\s+/);
  return (index: number, field: number) => Number(values[index * fields.length + field]);
}

function binaryValues(file: Uint8Array, { sizes, types, bytes, count }: Head) {
  const step = sizes.reduce((sum, size) => sum + size, 0);
  if (file.length < bytes + count * step) throw new PointCloudError("the point cloud is cut short");
  const starts = sizes.map((_, index) =>
    sizes.slice(0, index).reduce((sum, size) => sum + size, 0)
  );
  const view = new DataView(file.buffer, file.byteOffset + bytes);
  return (index: number, field: number) => {
    const at = index * step + (starts[field] ?? 0);
    const [size, type] = [sizes[field], types[field]];
    if (type === "F") return size === 8 ? view.getFloat64(at, true) : view.getFloat32(at, true);
    if (size === 4) return type === "I" ? view.getInt32(at, true) : view.getUint32(at, true);
    return size === 2 ? view.getUint16(at, true) : view.getUint8(at);
  };
}

/** Some programs write the colour's bits as a float. */
function colourOf(value: number, type: string | undefined): number {
  if (type !== "F") return value >>> 0;
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getUint32(0);
}
