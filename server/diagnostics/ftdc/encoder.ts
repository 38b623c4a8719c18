/** The file format of full-time data capture (FTDC): what is written for one sample. Pure. */

/** First byte of a schema. The first byte of a datum has its lowest bit clear, so it is never 1. */
export const SCHEMA_MARK = 0x01;
/** A value that moved by no more than this is not written again. */
const EPSILON = 1e-9;

/** The numbers of one moment: `names[i]` has `values[i]`. Names are `group.name`, in any order. */
export interface Sample {
  readonly names: readonly string[];
  readonly values: readonly number[];
}

/**
 * Turns samples into the bytes of one file:
 *
 * - a schema, when the names are others than before: `0x01`, the names as a JSON array, a newline;
 * - then the datum: one bit 0, one bit a name (1: its value follows), lowest bit first, filled up to
 *   whole bytes; the time as nanoseconds since 1970 in 8 bytes; each value that follows as a
 *   32-bit float. Numbers are big-endian.
 *
 * After a schema every value follows, so that a reader need not know what counts as the one before.
 */
export class FtdcEncoder {
  #names: readonly string[] | undefined;
  #previous = new Float32Array(0);

  /** The next bytes begin a new file. */
  restart(): void {
    this.#names = undefined;
  }

  /** @param time since 1970, milliseconds. */
  encode(time: number, sample: Sample): Uint8Array<ArrayBuffer> {
    const { names, values } = sample;
    const current = Float32Array.from(values, (value) => Number.isFinite(value) ? value : 0);
    const known = this.#names !== undefined && sameNames(this.#names, names);
    const previous = known ? this.#previous : undefined;
    const datum = encodeDatum(time, current, previous);
    this.#previous = current;
    if (known) return datum;
    this.#names = [...names];
    const schema = new TextEncoder().encode(JSON.stringify(names));
    const bytes = new Uint8Array(schema.length + 2 + datum.length);
    bytes[0] = SCHEMA_MARK;
    bytes.set(schema, 1);
    bytes[schema.length + 1] = 0x0a;
    bytes.set(datum, schema.length + 2);
    return bytes;
  }
}

function encodeDatum(
  time: number,
  current: Float32Array,
  previous: Float32Array | undefined,
): Uint8Array<ArrayBuffer> {
  const bitBytes = Math.ceil((current.length + 1) / 8);
  const bytes = new Uint8Array(bitBytes + 8 + 4 * current.length);
  const view = new DataView(bytes.buffer);
  view.setBigInt64(bitBytes, BigInt(Math.round(time)) * 1_000_000n);
  let at = bitBytes + 8;
  for (let i = 0; i < current.length; i++) {
    const value = current[i]!;
    if (previous && Math.abs(value - previous[i]!) <= EPSILON) continue;
    bytes[(i + 1) >> 3]! |= 1 << ((i + 1) & 7);
    view.setFloat32(at, value);
    at += 4;
  }
  return bytes.subarray(0, at);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
