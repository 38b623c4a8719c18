import type { ExportFormat } from "./format_names.ts";
import type { ExportSource } from "./export_rows.ts";
import { csv, jsonLines } from "./text_formats.ts";

export const CONTENT_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: "text/csv; charset=utf-8",
  jsonl: "application/x-ndjson; charset=utf-8",
  parquet: "application/vnd.apache.parquet",
};

/** Readings as the bytes of a file, piece by piece. */
export async function* exported(
  source: ExportSource,
  format: ExportFormat,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  switch (format) {
    case "csv":
      return yield* csv(source);
    case "jsonl":
      return yield* jsonLines(source);
    case "parquet": {
      const { parquet } = await import("./parquet.ts");
      return yield* parquet(source);
    }
  }
}
