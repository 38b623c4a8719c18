import type { JsonValue } from "@bufbuild/protobuf";
import { ByteWriter, ParquetWriter, type SchemaElement } from "hyparquet-writer";
import { type Column, ColumnFinder, type ColumnType, flatten } from "./columns.ts";
import type { ExportRow, ExportSource } from "./export_rows.ts";

/** Rows that are encoded at once: some ten milliseconds. */
const GROUP_ROWS = 5_000;

type Cell = number | bigint | boolean | string | null;

/**
 * Apache Parquet: the times as timestamps in microseconds, the fields as columns of their type,
 * compressed by Snappy. Reads everything twice: first to learn of the columns.
 */
export async function* parquet(source: ExportSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const finder = new ColumnFinder();
  for await (const { data } of source.rows()) finder.add(data);
  const columns = finder.columns();
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: schemaOf(columns),
    createdBy: "machine-cloud",
  });
  let group: ExportRow[] = [];
  const encode = async () => {
    await writer.write({ columnData: columnsOf(group, columns), rowGroupSize: GROUP_ROWS });
    group = [];
    return taken(bytes);
  };
  for await (const row of source.rows()) {
    group.push(row);
    if (group.length === GROUP_ROWS) yield await encode();
  }
  if (group.length > 0) yield await encode();
  await writer.finish();
  yield taken(bytes);
}

/** Takes out what was written; the writer continues counting from there. */
function taken(writer: ByteWriter): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(writer.getBuffer());
  writer.index = 0;
  return bytes;
}

const TYPES: Readonly<Record<ColumnType, Pick<SchemaElement, "type" | "converted_type">>> = {
  number: { type: "DOUBLE" },
  boolean: { type: "BOOLEAN" },
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  json: { type: "BYTE_ARRAY", converted_type: "UTF8" },
};

function schemaOf(columns: readonly Column[]): SchemaElement[] {
  const time = (name: string): SchemaElement => ({
    name,
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    repetition_type: "REQUIRED",
  });
  const fields: SchemaElement[] = [
    time("time_received"),
    time("time_requested"),
    { name: "tags", ...TYPES.json, repetition_type: "REQUIRED" },
    ...columns.map(({ path, type }): SchemaElement => ({
      name: path,
      ...TYPES[type],
      repetition_type: "OPTIONAL",
    })),
  ];
  return [{ name: "root", num_children: fields.length }, ...fields];
}

function columnsOf(rows: readonly ExportRow[], columns: readonly Column[]) {
  const flat = rows.map(({ data }) => flatten(data));
  return [
    { name: "time_received", data: rows.map(({ receivedUs }) => BigInt(receivedUs)) },
    { name: "time_requested", data: rows.map(({ requestedUs }) => BigInt(requestedUs)) },
    { name: "tags", data: rows.map(({ tags }) => JSON.stringify(tags)) },
    ...columns.map(({ path, type }) => ({
      name: path,
      data: flat.map((values) => cell(values.get(path), type)),
    })),
  ];
}

function cell(value: JsonValue | undefined, type: ColumnType): Cell {
  if (value === undefined || value === null) return null;
  if (type === "json" || typeof value === "object") return JSON.stringify(value);
  return value;
}
