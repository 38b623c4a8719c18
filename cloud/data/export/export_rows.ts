import type { JsonObject } from "@bufbuild/protobuf";
import { parseObject, parseTexts } from "../ingest/stored_json.ts";
import type { TimeSpan } from "../ingest/filters.ts";
import type { Readings } from "../ingest/readings.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** A reading on its way out. */
export interface ExportRow {
  readonly receivedUs: number;
  readonly requestedUs: number;
  readonly tags: readonly string[];
  readonly data: JsonObject;
}

export interface ExportQuery extends TimeSpan {
  readonly sourceIds: readonly number[];
  readonly signal?: AbortSignal | undefined;
}

/** Reads the same rows each time: what arrives after it was opened is left out. */
export class ExportSource {
  private constructor(
    private readonly readings: Readings,
    private readonly query: ExportQuery,
    private readonly throughUpload: number,
  ) {}

  static async open(
    queries: Queries,
    readings: Readings,
    query: ExportQuery,
  ): Promise<ExportSource> {
    const newest = await queries.selectFrom("data_uploads").select("id").orderBy("id", "desc")
      .limit(1).executeTakeFirst();
    return new ExportSource(readings, query, newest?.id ?? 0);
  }

  /** In the order of time. */
  async *rows(): AsyncGenerator<ExportRow> {
    const { sourceIds, ...span } = this.query;
    const filter = { ...span, throughUpload: this.throughUpload };
    for await (const row of this.readings.all(sourceIds, filter)) {
      yield {
        receivedUs: row.received_us,
        requestedUs: row.requested_us,
        tags: parseTexts(row.tags),
        data: parseObject(row.data),
      };
    }
  }
}
