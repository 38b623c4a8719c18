/** Reads files of full-time data capture, ours and those of others in the same format. */

/** One moment: names as in the schema that was in force, and the value of each. */
export interface Datum {
  /** Since 1970, milliseconds. */
  readonly time: number;
  readonly names: readonly string[];
  readonly values: Float32Array;
}

/** What a file holds. */
export interface Reading {
  readonly data: Datum[];
  /** Why reading ended before the end of the file; undefined when it did not. */
  readonly problem: string | undefined;
}

const SCHEMA_MARK = 0x01;
const NEWLINE = 0x0a;
/** Names in one schema; more means that this is no such file. */
const MAX_NAMES = 100_000;

/**
 * Reads everything up to the first thing that cannot be read: a process that was killed leaves half
 * a datum at the end.
 */
export function readFtdc(bytes: Uint8Array): Reading {
  const data: Datum[] = [];
  const moments = ftdcMoments(bytes);
  for (;;) {
    const { done, value } = moments.next();
    if (done) return { data, problem: value };
    data.push({ ...value, values: value.values.slice() });
  }
}

/**
 * The moments of a file, one after the other; all share one list of values, which the next moment
 * overwrites.
 *
 * @returns why reading ended before the end of the file; undefined when it did not
 */
export function* ftdcMoments(bytes: Uint8Array): Generator<Datum, string | undefined> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let names: readonly string[] | undefined;
  let values = new Float32Array(0);
  let at = 0;
  const stop = (problem: string) => `${problem} at byte ${at} of ${bytes.length}`;

  while (at < bytes.length) {
    if (bytes[at] === SCHEMA_MARK) {
      const end = bytes.indexOf(NEWLINE, at);
      if (end < 0) return stop("a schema is cut off");
      const schema = parseSchema(bytes.subarray(at + 1, end));
      if (!schema) return stop("a schema is not a list of names");
      names = schema;
      values = new Float32Array(names.length);
      at = end + 1;
      continue;
    }
    if (!names) return stop("there is no schema: this is not a capture file; found data");
    if ((bytes[at]! & 1) !== 0) return stop("neither schema nor datum");
    const bitBytes = Math.ceil((names.length + 1) / 8);
    const changed = changedFields(bytes, at, names.length);
    if (at + bitBytes + 8 + 4 * changed.length > bytes.length) {
      return stop("the last datum is cut off");
    }
    const time = Number(view.getBigInt64(at + bitBytes) / 1_000_000n);
    at += bitBytes + 8;
    for (const field of changed) {
      values[field] = view.getFloat32(at);
      at += 4;
    }
    yield { time, names, values };
  }
  return undefined;
}

function changedFields(bytes: Uint8Array, at: number, count: number): number[] {
  const fields: number[] = [];
  for (let byte = 0; byte <= count >> 3; byte++) {
    const bits = bytes[at + byte] ?? 0;
    if (bits === 0) continue;
    for (let bit = 0; bit < 8; bit++) {
      const field = byte * 8 + bit - 1;
      if (((bits >> bit) & 1) !== 0 && field < count) fields.push(field);
    }
  }
  return fields;
}

function parseSchema(bytes: Uint8Array): string[] | undefined {
  try {
    const names: unknown = JSON.parse(new TextDecoder().decode(bytes));
    const fits = Array.isArray(names) && names.length <= MAX_NAMES &&
      names.every((name) => typeof name === "string");
    return fits ? names : undefined;
  } catch {
    return undefined; // Reported by the caller, with the place.
  }
}

/** The course of one number. */
export interface Series {
  readonly name: string;
  /** Since 1970, milliseconds, ascending as in the files. */
  readonly times: number[];
  readonly values: number[];
}

/** Turns moments into series, one a name, sorted by name. */
export function toSeries(data: readonly Datum[]): Series[] {
  const series = new Map<string, Series>();
  for (const { time, names, values } of data) {
    for (let i = 0; i < names.length; i++) {
      const name = names[i]!;
      let one = series.get(name);
      if (!one) series.set(name, one = { name, times: [], values: [] });
      one.times.push(time);
      one.values.push(values[i]!);
    }
  }
  return [...series.values()].sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
}
