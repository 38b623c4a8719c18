import { createHash } from "node:crypto";
import type { FileMetaData } from "hyparquet";
import type { SchemaElement } from "hyparquet-writer";
import type { StoredReading } from "../ingest/archive.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";

/** Readings of one source, in the order of their key. */
export interface SourceReadings {
  readonly source: {
    readonly id: number;
    readonly component_name: string;
    readonly method_name: string;
  };
  readonly readings: readonly StoredReading[];
}

/** Rows of a file that are read together, all of one source. */
export interface RowGroup {
  /** Rows before it in the file. */
  readonly start: number;
  readonly end: number;
  readonly minUs: number;
  readonly maxUs: number;
}

/** Columns of a file that are read. */
export interface GroupColumns {
  readonly received_us: readonly bigint[];
  readonly requested_us: readonly bigint[];
  readonly upload_id: readonly bigint[];
  readonly position: readonly bigint[];
  /** Undefined: it was not wanted. */
  readonly data: readonly string[] | undefined;
}

/** Rows of one group: read in a few milliseconds. */
const GROUP_ROWS = 2_000;
/** Length of their JSON; a single one may have more. */
const GROUP_LENGTH = 1024 * 1024;
const KEY_COLUMNS = ["time_received", "time_requested", "upload_id", "position"];
const DELTA = { type: "INT64", encoding: "DELTA_BINARY_PACKED" } as const;

/** Writes readings as Parquet; each source begins with a group of rows of its own. */
export async function encodeArchive(
  sources: readonly SourceReadings[],
): Promise<Uint8Array<ArrayBuffer>> {
  const { ByteWriter, ParquetWriter } = await import("hyparquet-writer");
  const writer = new ByteWriter();
  const parquet = new ParquetWriter({ writer, schema: SCHEMA, createdBy: "machine-cloud" });
  for (const { source, readings } of sources) {
    for (let at = 0; at < readings.length;) {
      const rows = groupAt(readings, at);
      at += rows.length;
      const numbers = (name: string, of: (row: StoredReading) => number) => ({
        ...{ name, data: rows.map((row) => BigInt(of(row))), encoding: DELTA.encoding },
      });
      const texts = (name: string, text: string) => ({ name, data: rows.map(() => text) });
      await parquet.write({
        columnData: [
          numbers("time_received", ({ received_us }) => received_us),
          numbers("time_requested", ({ requested_us }) => requested_us),
          texts("component_name", source.component_name),
          texts("method_name", source.method_name),
          { name: "data", data: rows.map(({ data }) => data), statistics: false },
          numbers("source_id", () => source.id),
          numbers("upload_id", ({ upload_id }) => upload_id),
          numbers("position", ({ position }) => position),
        ],
        rowGroupSize: GROUP_ROWS,
      });
      await letOthersWork();
    }
  }
  await parquet.finish();
  return new Uint8Array(writer.getBuffer());
}

/** The readings of the next group. */
function groupAt(readings: readonly StoredReading[], at: number): readonly StoredReading[] {
  let [end, length] = [at, 0];
  do length += readings[end++]?.data.length ?? 0; while (
    end < readings.length && end - at < GROUP_ROWS && length < GROUP_LENGTH
  );
  return readings.slice(at, end);
}

const NUMBER = { type: "INT64", repetition_type: "REQUIRED" } as const;
const TIME = { ...NUMBER, converted_type: "TIMESTAMP_MICROS" } as const;
const TEXT = { type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "REQUIRED" } as const;
const FIELDS: SchemaElement[] = [
  { name: "time_received", ...TIME },
  { name: "time_requested", ...TIME },
  { name: "component_name", ...TEXT },
  { name: "method_name", ...TEXT },
  { name: "data", ...TEXT },
  { name: "source_id", ...NUMBER },
  { name: "upload_id", ...NUMBER },
  { name: "position", ...NUMBER },
];
const SCHEMA: SchemaElement[] = [{ name: "root", num_children: FIELDS.length }, ...FIELDS];

/** A file of readings that is in memory. */
export class ArchiveFile {
  private constructor(
    private readonly bytes: Uint8Array<ArrayBuffer>,
    private readonly metadata: FileMetaData,
    private readonly groups: readonly RowGroup[],
  ) {}

  /** @throws for what is no such file */
  static async open(bytes: Uint8Array<ArrayBuffer>): Promise<ArchiveFile> {
    const { parquetMetadata } = await import("hyparquet");
    const metadata = parquetMetadata(bytes.buffer, { parsers: PARSERS });
    let start = 0;
    const groups = metadata.row_groups.map(({ num_rows, columns }): RowGroup => {
      const { min_value, max_value } = columns[0]?.meta_data?.statistics ?? {};
      const group = {
        ...{ start, end: start + Number(num_rows) },
        ...{ minUs: microseconds(min_value), maxUs: microseconds(max_value) },
      };
      start = group.end;
      return group;
    });
    return new ArchiveFile(bytes, metadata, groups);
  }

  /** Bytes in memory. */
  get size(): number {
    return this.bytes.length;
  }

  /** The groups of some rows, in their order. */
  groupsOf(firstRow: number, rows: number): RowGroup[] {
    return this.groups.filter(({ start, end }) => start >= firstRow && end <= firstRow + rows);
  }

  /** Reads a group. @param withData the JSON, too */
  async columns({ start, end }: RowGroup, withData: boolean): Promise<GroupColumns> {
    const { parquetRead } = await import("hyparquet");
    const columns = [...KEY_COLUMNS, ...(withData ? ["data"] : [])];
    const read = new Map<string, unknown[]>();
    await parquetRead({
      ...{ file: this.bytes.buffer, metadata: this.metadata, columns },
      ...{ rowStart: start, rowEnd: end },
      parsers: PARSERS,
      onChunk: ({ columnName, columnData }) => {
        const before = read.get(columnName);
        const data = Array.from(columnData as ArrayLike<unknown>);
        read.set(columnName, before ? [...before, ...data] : data);
      },
    });
    const column = <T>(name: string): readonly T[] => {
      const data = read.get(name);
      if (data?.length === end - start) return data as T[];
      throw new Error(`the column ${name} has ${data?.length} of ${end - start} rows`);
    };
    return {
      ...{ received_us: column("time_received"), requested_us: column("time_requested") },
      ...{ upload_id: column("upload_id"), position: column("position") },
      data: withData ? column("data") : undefined,
    };
  }

  /** The readings of a group. */
  async readings(group: RowGroup, sourceId: number): Promise<StoredReading[]> {
    const columns = await this.columns(group, true);
    return columns.received_us.map((us, at) => ({
      ...{ source_id: sourceId, received_us: Number(us) },
      upload_id: Number(columns.upload_id[at]),
      position: Number(columns.position[at]),
      requested_us: Number(columns.requested_us[at]),
      data: columns.data?.[at] ?? "",
    }));
  }
}

/** Times stay whole; a Date would have milliseconds only. */
const PARSERS = {
  timestampFromMicroseconds: (us: bigint) => us as unknown as Date,
};

function microseconds(value: unknown): number {
  if (typeof value === "bigint" || typeof value === "number") return Number(value);
  throw new Error("the file has no least and most of its times");
}

/** What distinguishes readings from all others, whatever file they lie in. */
export class ReadingsHash {
  readonly #hash = createHash("sha256");

  async add(readings: readonly StoredReading[]): Promise<void> {
    for (const [at, reading] of readings.entries()) {
      if (at % GROUP_ROWS === GROUP_ROWS - 1) await letOthersWork();
      const { source_id, received_us, upload_id, position, requested_us, data } = reading;
      const numbers = [source_id, received_us, upload_id, position, requested_us];
      this.#hash.update(`${numbers.join(" ")} ${data.length} ${data}\n`);
    }
  }

  digest(): string {
    return this.#hash.digest("hex");
  }
}
