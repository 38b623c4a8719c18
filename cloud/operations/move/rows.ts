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
  /** What PostgreSQL has of it where that is no table of this name: a query with a name. */
  readonly from?: string;
  /** The sequence that it counts by there, where its columns do not say. */
  readonly sequence?: string;
}

/** One side of a move. */
export interface Side {
  /**
   * Rows in the order of their keys, some at a time, bounded in number and bytes.
   *
   * @param after the key of the row before the first one; left out: from the start
   */
  batches(table: Table, after?: readonly Value[]): AsyncIterable<Row[]>;
}

/** Where rows come from. Nobody else writes to it meanwhile. */
export interface MoveSource extends Side {
  count(table: Table): Promise<number>;
}

/** Where rows go to. */
export interface MoveTarget extends Side {
  progress(table: Table): Promise<TableProgress>;
  /** Adds rows, and notes with them how far the table is. */
  append(table: Table, rows: readonly Row[], progress: TableProgress): Promise<void>;
  /** Takes the rows of a table back. */
  forget(table: Table): Promise<void>;
}

/** How far a table has been copied. */
export interface TableProgress {
  readonly rows: number;
  readonly after: readonly Value[] | undefined;
  readonly isComplete: boolean;
}

/** Most rows of a batch, and about how many bytes they have. */
export const BATCH = { rows: 2_000, bytes: 4 * 1024 * 1024 } as const;

/** How many rows a table has, and a hash of them in the order of their keys. */
export interface Digest {
  readonly rows: number;
  readonly sha256: string;
}

/** A value as text from which {@link decodeValue} makes it again. */
function encodeValue(value: Value): string {
  if (value === null) return "n";
  if (typeof value === "bigint") return `i${value}`;
  if (typeof value === "number") return `r${value}`;
  if (typeof value === "string") return `t${value}`;
  return `b${value.toString("hex")}`;
}

/** The value that {@link encodeValue} wrote. */
function decodeValue(text: string): Value {
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

/** The key of a row. */
export function keyOf({ columns, key }: Table, row: Row): Value[] {
  return key.map((name) => row[columns.indexOf(name)] ?? null);
}

/** Names of columns, for SQL of both engines. */
export function quoted(columns: readonly string[]): string {
  return columns.map((name) => `"${name}"`).join(", ");
}

/** About how many bytes a row takes. */
export function sizeOf(row: Row): number {
  return row.reduce<number>(
    (sum, value) => sum + (typeof value === "string" || Buffer.isBuffer(value) ? value.length : 8),
    0,
  );
}

/** How far a table is, as text from which {@link readProgress} makes it again. */
export function afterText({ after }: TableProgress): string | null {
  return after ? JSON.stringify(after.map(encodeValue)) : null;
}

/** What was noted of a table; undefined: nothing. */
export function readProgress(
  noted:
    | { readonly rows: number; readonly after: string | null; readonly isComplete: boolean }
    | undefined,
): TableProgress {
  const after = noted?.after ? (JSON.parse(noted.after) as string[]).map(decodeValue) : undefined;
  return { rows: noted?.rows ?? 0, after, isComplete: noted?.isComplete ?? false };
}
