/** The forms in which readings are exported. */
const FORMATS = ["csv", "jsonl", "parquet"] as const;
export type ExportFormat = typeof FORMATS[number];

export function isFormat(text: string): text is ExportFormat {
  return (FORMATS as readonly string[]).includes(text);
}
