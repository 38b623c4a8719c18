import type { JsonValue } from "@bufbuild/protobuf";
import { isoText } from "../ingest/times.ts";
import { ColumnFinder, flatten } from "./columns.ts";
import type { ExportSource } from "./export_rows.ts";

/** Texts are handed over in pieces of about so many characters. */
const PIECE = 64 * 1024;

/** One JSON object a line. */
export async function* jsonLines(source: ExportSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield* encoded(async function* () {
    for await (const { receivedUs, requestedUs, tags, data } of source.rows()) {
      yield `${
        JSON.stringify({
          time_received: isoText(receivedUs),
          time_requested: isoText(requestedUs),
          tags,
          data,
        })
      }\n`;
    }
  }());
}

/** RFC 4180, with a header. Reads everything twice: first to learn of the columns. */
export async function* csv(source: ExportSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const finder = new ColumnFinder();
  for await (const { data } of source.rows()) finder.add(data);
  const paths = finder.columns().map(({ path }) => path);
  yield* encoded(async function* () {
    yield line(["time_received", "time_requested", "tags", ...paths]);
    for await (const { receivedUs, requestedUs, tags, data } of source.rows()) {
      const values = flatten(data);
      const cells = paths.map((path) => text(values.get(path)));
      yield line([isoText(receivedUs), isoText(requestedUs), tags.join(" "), ...cells]);
    }
  }());
}

function text(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function line(cells: readonly string[]): string {
  return `${cells.map(quoted).join(",")}\r\n`;
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

async function* encoded(
  texts: AsyncIterable<string>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let piece: string[] = [];
  let length = 0;
  for await (const text of texts) {
    piece.push(text);
    length += text.length;
    if (length < PIECE) continue;
    yield encoder.encode(piece.join(""));
    [piece, length] = [[], 0];
  }
  if (length > 0) yield encoder.encode(piece.join(""));
}
