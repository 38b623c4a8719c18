import { Buffer } from "node:buffer";
import type { Client } from "pg";
import type { PostgresAddress } from "../../storage/postgres/address.ts";
import { clientConfig } from "../../storage/postgres/connect.ts";
import { BATCH, quoted, type Row, sizeOf, type Table, type Value } from "./rows.ts";

const FETCH_ROWS = 200;
const WHOLE_NUMBERS = new Set([20, 21, 23]);
const REAL_NUMBERS = new Set([700, 701]);
const BYTES = 17;

/** Connects for a move: values stay as PostgreSQL writes them, so that no number is rounded. */
export async function connectForMove(address: PostgresAddress): Promise<Client> {
  const config = await clientConfig(address);
  const { default: pg } = await import("pg");
  const types = { getTypeParser: () => (text: string) => text };
  const client = new pg.Client({ ...config, types: types as unknown as typeof pg.types });
  client.on("error", () => undefined); // the next statement reports it
  await client.connect();
  return client;
}

/** Rows in the order of their keys, by a cursor: a transaction must be open. */
export async function* cursorRows(
  client: Client,
  table: Table,
  after: readonly Value[] | undefined,
): AsyncGenerator<Row[]> {
  const key = quoted(table.key);
  const from = after?.map((value, at) => `$${at + 1}::${typeOf(value)}`).join(", ");
  await client.query(
    `declare moved no scroll cursor for select ${quoted(table.columns)} from ${fromOf(table)}
      ${from === undefined ? "" : `where (${key}) > (${from})`} order by ${key}`,
    after?.map(parameter),
  );
  try {
    for (let isOver = false; !isOver;) {
      const batch: Row[] = [];
      let bytes = 0;
      while (!isOver && batch.length < BATCH.rows && bytes <= BATCH.bytes) {
        const { rows, fields } = await client.query<(string | null)[]>({
          text: `fetch ${FETCH_ROWS} from moved`,
          rowMode: "array",
        });
        for (const texts of rows) {
          const row = texts.map((text, at) => valueOf(text, fields[at]?.dataTypeID ?? 0));
          batch.push(row);
          bytes += sizeOf(row);
        }
        isOver = rows.length < FETCH_ROWS;
      }
      if (batch.length > 0) yield batch;
    }
  } finally {
    await client.query("close moved").catch(() => undefined); // what failed before is reported
  }
}

/**
 * What belongs to some keys: the condition of a statement, and its values.
 *
 * @param types of the columns of the table
 */
function keyCondition(table: Table, types: readonly string[], keys: readonly (readonly Value[])[]) {
  const lists = table.key.map((name, at) => `$${at + 1}::${types[table.columns.indexOf(name)]}[]`);
  return {
    text: `(${quoted(table.key)}) in (select * from unnest(${lists.join(", ")}))`,
    values: table.key.map((_, at) => keys.map((key) => parameter(key[at] ?? null))),
  };
}

/** Removes the rows with some keys. */
export async function removeRows(
  client: Client,
  table: Table,
  types: readonly string[],
  keys: readonly (readonly Value[])[],
): Promise<void> {
  const { text, values } = keyCondition(table, types, keys);
  await client.query(`delete from "${table.name}" where ${text}`, values);
}

/** The rows with some keys that are there. */
export async function rowsWith(
  client: Client,
  table: Table,
  types: readonly string[],
  keys: readonly (readonly Value[])[],
): Promise<Row[]> {
  const { text, values } = keyCondition(table, types, keys);
  const { rows, fields } = await client.query<(string | null)[]>({
    text: `select ${quoted(table.columns)} from "${table.name}" where ${text}`,
    ...{ values, rowMode: "array" },
  });
  return rows.map((texts) => texts.map((value, at) => valueOf(value, fields[at]?.dataTypeID ?? 0)));
}

/** What a query names for a table. */
export function fromOf({ name, from }: Table): string {
  return from ?? `"${name}"`;
}

/** A value as the client of PostgreSQL takes it. */
export function parameter(value: Value): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

function typeOf(value: Value): string {
  if (typeof value === "bigint") return "bigint";
  if (typeof value === "number") return "float8";
  return Buffer.isBuffer(value) ? "bytea" : "text";
}

function valueOf(text: string | null, type: number): Value {
  if (text === null) return null;
  if (WHOLE_NUMBERS.has(type)) return BigInt(text);
  if (REAL_NUMBERS.has(type)) return Number(text);
  return type === BYTES ? Buffer.from(text.slice(2), "hex") : text;
}
