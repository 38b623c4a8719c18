import { Buffer } from "node:buffer";

/** Format of the stream with facts of an MSI file, as it stands in it. */
const FORMAT = Buffer.from("e0859ff2f94f6810ab9108002b27b3d9", "hex");
const HEADER_BYTES = 28;
const REVISION = 9;
const TIMES: readonly number[] = [12, 13];
const TEXT = 0x1e;
const FILETIME = 0x40;
/** Milliseconds from 1601, where Windows begins to count, to 1970. */
const WINDOWS_EPOCH_MS = 11_644_473_600_000;

/**
 * Replaces what `wixl` makes up at each run in the facts of an MSI file: the code of the package and
 * the times, so that two builds are the same ([MS-OLEPS] has the layout).
 *
 * @param code a UUID in braces, as long as the one that is there
 * @throws {Error} when the file has no such facts
 */
export function settleSummary(msi: Uint8Array, code: string, time: Date): void {
  const bytes = Buffer.from(msi.buffer, msi.byteOffset, msi.byteLength);
  const format = bytes.indexOf(FORMAT);
  if (format === -1) throw new Error("the MSI file has no summary");
  const section = format - HEADER_BYTES + bytes.readUInt32LE(format + FORMAT.length);
  const places = new Map<number, number>();
  for (let at = 0; at < bytes.readUInt32LE(section + 4); at++) {
    const entry = section + 8 + 8 * at;
    places.set(bytes.readUInt32LE(entry), section + bytes.readUInt32LE(entry + 4));
  }
  const revision = place(places, REVISION);
  const length = bytes.readUInt32LE(revision + 4);
  if (bytes.readUInt32LE(revision) !== TEXT || length !== code.length + 1) {
    throw new Error("the code of the MSI file is no UUID");
  }
  bytes.write(code, revision + 8, "latin1");
  for (const property of TIMES) {
    const at = place(places, property);
    if (bytes.readUInt32LE(at) !== FILETIME) throw new Error("the MSI file has no times");
    bytes.writeBigUInt64LE(BigInt(time.getTime() + WINDOWS_EPOCH_MS) * 10_000n, at + 4);
  }
}

function place(places: ReadonlyMap<number, number>, property: number): number {
  const at = places.get(property);
  if (at === undefined) throw new Error(`the MSI file lacks property ${property}`);
  return at;
}
