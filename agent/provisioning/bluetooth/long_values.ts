import { SEALED_BYTES } from "./sealed_values.ts";

/** Of one phone and characteristic each. */
const MOST_KEPT = 64;

/**
 * Values that are longer than what goes over the radio at once: each piece of a read is of the value
 * that the first piece was of, and pieces of a write are put together where BlueZ has not done that.
 */
export class LongValues {
  readonly #read = new Map<string, Uint8Array>();
  readonly #written = new Map<string, Uint8Array>();

  /** The whole value that a read at this offset is of. */
  reading(key: string, offset: number, current: () => Uint8Array): Uint8Array {
    const kept = offset === 0 ? undefined : this.#read.get(key);
    if (kept) return kept;
    const value = current();
    keep(this.#read, key, value);
    return value;
  }

  /**
   * Takes a piece that was written.
   *
   * @returns everything from the start on; a whole value is for its reader to recognise. `gap`:
   * there is
   *   no piece that ends at this offset.
   */
  written(key: string, offset: number, bytes: Uint8Array): Uint8Array | "gap" | "too-long" {
    if (offset + bytes.length > SEALED_BYTES) return "too-long";
    const before = offset === 0 ? new Uint8Array() : this.#written.get(key);
    if (before?.length !== offset) return "gap";
    const value = new Uint8Array([...before, ...bytes]);
    if (value.length < SEALED_BYTES) keep(this.#written, key, value);
    else this.#written.delete(key);
    return value;
  }
}

function keep(map: Map<string, Uint8Array>, key: string, value: Uint8Array): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_KEPT && oldest !== undefined) map.delete(oldest);
}
