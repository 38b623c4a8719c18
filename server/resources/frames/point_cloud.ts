/** Moves the points of a file in the format of the Point Cloud Library (PCD). */
import { Code, ConnectError } from "@connectrpc/connect";
import { type Pose, transformed, type Vector } from "./pose.ts";

const MM_PER_METER = 1_000;

/** A header is shorter than this. Bytes. */
const LONGEST_HEADER = 4_096;

const AXES = ["x", "y", "z"] as const;

/** Where a field is in each point, counted in bytes and in words of text. */
interface Field {
  readonly offset: number;
  readonly word: number;
  readonly size: number;
  readonly type: string;
}

interface Header {
  /** Bytes of the header. */
  readonly length: number;
  readonly fields: ReadonlyMap<string, Field>;
  readonly pointBytes: number;
  readonly points: number;
  readonly data: string;
}

/**
 * The same file with its points as they are seen from where `pose` is seen from. Points are in
 * metres, poses in millimetres; all other fields stay as they are.
 *
 * @throws {ConnectError} INVALID_ARGUMENT for what is no such file, or a compressed one.
 */
export function transformPointCloud(file: Uint8Array, pose: Pose): Uint8Array<ArrayBuffer> {
  const header = readHeader(file);
  const move = ({ x, y, z }: Vector): Vector => {
    const moved = transformed(pose, {
      x: x * MM_PER_METER,
      y: y * MM_PER_METER,
      z: z * MM_PER_METER,
    });
    return { x: moved.x / MM_PER_METER, y: moved.y / MM_PER_METER, z: moved.z / MM_PER_METER };
  };
  switch (header.data) {
    case "binary":
      return moveBinary(file, header, move);
    case "ascii":
      return moveText(file, header, move);
    default:
      throw wrong(`its points are ${header.data}; send them as binary or ascii`);
  }
}

function moveBinary(
  file: Uint8Array,
  { length, fields, pointBytes, points }: Header,
  move: (point: Vector) => Vector,
): Uint8Array<ArrayBuffer> {
  const end = length + points * pointBytes;
  if (file.length < end) {
    throw wrong(`it ends after ${file.length} bytes; ${points} points need ${end}`);
  }
  const copy = file.slice();
  const view = new DataView(copy.buffer);
  const places = AXES.map((axis) => fields.get(axis)!);
  for (let at = length; at < end; at += pointBytes) {
    const [x, y, z] = places.map(({ offset, size }) =>
      size === 8 ? view.getFloat64(at + offset, true) : view.getFloat32(at + offset, true)
    );
    const moved = move({ x: x!, y: y!, z: z! });
    places.forEach(({ offset, size }, index) => {
      const value = moved[AXES[index]!];
      if (size === 8) view.setFloat64(at + offset, value, true);
      else view.setFloat32(at + offset, value, true);
    });
  }
  return copy;
}

function moveText(
  file: Uint8Array,
  { length, fields, points }: Header,
  move: (point: Vector) => Vector,
): Uint8Array<ArrayBuffer> {
  const words = AXES.map((axis) => fields.get(axis)!.word);
  const lines = new TextDecoder().decode(file.subarray(length)).trim().split(/\r?\n/);
  const found = lines[0] === "" ? 0 : lines.length;
  if (found < points) throw wrong(`it has ${found} lines; ${points} points need one each`);
  const moved = lines.slice(0, points).map((line, index) => {
    const values = line.trim().split(/\s+/);
    if (!words.every((word) => isNumber(values[word]))) {
      throw wrong(`point ${index + 1} has no numbers for x, y and z`);
    }
    const [x, y, z] = words.map((word) => Number(values[word]));
    const point = move({ x: x!, y: y!, z: z! });
    words.forEach((word, axis) => values[word] = String(point[AXES[axis]!]));
    return values.join(" ");
  });
  const text = new TextEncoder().encode(moved.map((line) => `${line}\n`).join(""));
  const copy = new Uint8Array(length + text.length);
  copy.set(file.subarray(0, length));
  copy.set(text, length);
  return copy;
}

/** A point that was not measured is `nan`. */
function isNumber(text: string | undefined): boolean {
  return text !== undefined && text !== "" &&
    (/^nan$/i.test(text) || Number.isFinite(Number(text)));
}

function readHeader(file: Uint8Array): Header {
  const text = new TextDecoder("latin1").decode(file.subarray(0, LONGEST_HEADER));
  const data = /^DATA +(\S+)[ \r]*\n/m.exec(text);
  if (!data) throw wrong("it has no line DATA at the end of a header");
  const values = (name: string) =>
    new RegExp(`^${name} +(.*)$`, "m").exec(text.slice(0, data.index))?.[1]?.trim().split(/ +/);
  const names = values("FIELDS") ?? [];
  const [sizes, types, counts] = [values("SIZE"), values("TYPE"), values("COUNT")];
  const fields = new Map<string, Field>();
  let [offset, word] = [0, 0];
  names.forEach((name, index) => {
    const size = Number(sizes?.[index]);
    const count = Number(counts?.[index] ?? 1);
    if (!(size > 0 && count > 0)) throw wrong(`the size of its field ${name} is not known`);
    fields.set(name, { offset, word, size, type: types?.[index] ?? "" });
    offset += size * count;
    word += count;
  });
  for (const axis of AXES) {
    const field = fields.get(axis);
    if (field?.type !== "F" || (field.size !== 4 && field.size !== 8)) {
      throw wrong(`it has no field ${axis} of type F and size 4 or 8`);
    }
  }
  const points = Number(values("POINTS")?.[0]);
  if (!Number.isInteger(points) || points < 0) {
    throw wrong("it does not state how many POINTS it has");
  }
  return {
    length: data.index + data[0].length,
    fields,
    pointBytes: offset,
    points,
    data: data[1]!,
  };
}

function wrong(reason: string): ConnectError {
  return new ConnectError(`point_cloud_pcd is no point cloud: ${reason}`, Code.InvalidArgument);
}
