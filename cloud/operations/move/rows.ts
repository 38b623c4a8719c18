import { createHash } from "node:crypto";
import { Buffer } from "node:buffer";

/** What a column of a row holds: whole numbers are bigint. */
export type Value = bigint | number | string | Buffer | null;

/** One row, in the order of the table's columns. */
export type Row = readonly Value[];

/** A table of `cloud.db`. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns that no two rows have the same of; none of them is null. */
  readonly key: readonly string[];
}

/** How many rows a table has, and a hash of them in the order of their keys. */
export interface Digest {
  readonly rows: number;
  readonly sha256: string;
}

/** A value as text from which {@link decodeValue} makes it again. */
export function encodeValue(value: Value): string {
  if (value === null) return "n";
  if (typeof value === "bigint") return `i${value}`;
  if (typeof value === "number") return `r${value}`;
  if (typeof value === "string") return `t${value}`;
  return `b${value.toString("hex")}`;
}

/** The value that {@link encodeValue} wrote. */
export function decodeValue(text: string): Value {
  const rest = text.slice(1);
  switch (text[0]) {
    case "i":
      return BigInt(rest);
    case "r":
      return Number(rest);
    case "t":
      return rest;
    case "b":
      return Buffer.from(rest, "hex");
    default:
      return null;
  }
}

/** The hash of rows that come in the order of their keys. */
export class RowHash {
  readonly #hash = createHash("sha256");
  #rows = 0;

  add(row: Row): void {
    this.#hash.update(`${JSON.stringify(row.map(encodeValue))}\n`);
    this.#rows += 1;
  }

  digest(): Digest {
    return { rows: this.#rows, sha256: this.#hash.digest("hex") };
  }
}
