import { sql } from "kysely";
import { Failures } from "../../../shared/base/errors/failures.ts";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { newestUpload } from "../ingest/reading_rows.ts";
import type { Archived, ReadingsMover, StoredReading } from "../ingest/archive.ts";
import type { SourceReadings } from "./archive_file.ts";
import { sweepArchive } from "./archive_sweep.ts";
import {
  ArchiveWriter,
  type ArchiveWriterOptions,
  bytesOf,
  MOST_BYTES,
  MOST_ROWS,
  ReadingsChangedError,
} from "./archive_writer.ts";
import type { FileRow } from "./catalogue.ts";
import { DAY_US, dayOf } from "./days.ts";
import { Rewriting } from "./rewriting.ts";

/** Readings that one statement reads: a few milliseconds. */
const SLICE = 2_000;

/** Sources that one statement asks for: each is looked up in the tables of all weeks. */
const SOURCES_AT_ONCE = 500;

/** A source with the time of its oldest reading. */
interface OldSource {
  readonly id: number;
  readonly part_id: string;
  readonly component_name: string;
  readonly method_name: string;
  readonly first: number;
}

/** Moves readings to files, a part and a day at a time. One process does it. */
export class Archiver implements ReadingsMover {
  readonly #writer: ArchiveWriter;
  readonly #rewriting: Rewriting;

  constructor(private readonly options: ArchiveWriterOptions) {
    this.#writer = new ArchiveWriter(options);
    this.#rewriting = new Rewriting(options, this.#writer);
  }

  /** Moves what is old enough; what cannot be moved now is when it is called again. */
  async run(signal?: AbortSignal): Promise<Archived> {
    const { queries, clock } = this.options;
    const settings = await queries.selectFrom("data_settings").selectAll()
      .where("archive_after_days", "is not", null).execute();
    let [readings, files] = [0, 0];
    const failures = new Failures();
    for (const { org_id, archive_after_days } of settings) {
      const beforeUs = (dayOf(clock.now().getTime() * 1_000) - Number(archive_after_days)) * DAY_US;
      await failures.during(async () => {
        for await (const moved of this.#organization(org_id, beforeUs)) {
          readings += moved;
          files++;
          if (signal?.aborted) return;
        }
        await this.#merge(org_id, signal, failures);
      }, undefined);
      if (signal?.aborted) break;
    }
    failures.throwIfAny();
    return { readings, files };
  }

  async sweep(now: Date): Promise<number> {
    return await sweepArchive(this.options, now);
  }

  /** Moves what was captured before a time. Gives how many readings each file has. */
  async *#organization(orgId: string, beforeUs: number): AsyncGenerator<number> {
    const oldest = sql<number | null>`(select min(r.received_us) from tabular_readings r
      where r.source_id = s.id and r.received_us < ${beforeUs})`;
    for (;;) {
      const sources: OldSource[] = [];
      for (let last = -1, isOver = false; !isOver;) {
        const found = await this.options.queries.selectFrom("data_sources as s")
          .select(["s.id", "s.part_id", "s.component_name", "s.method_name", oldest.as("first")])
          .where("s.org_id", "=", orgId).where("s.id", ">", last).orderBy("s.id")
          .limit(SOURCES_AT_ONCE).execute();
        sources.push(...found.filter((source): source is OldSource => source.first !== null));
        last = found.at(-1)?.id ?? last;
        isOver = found.length < SOURCES_AT_ONCE;
      }
      if (sources.length === 0) return;
      for (const ofPart of Map.groupBy(sources, ({ part_id }) => part_id).values()) {
        const day = Math.min(...ofPart.map(({ first }) => dayOf(first)));
        const moved = await this.#day(orgId, ofPart, day);
        if (moved === 0) return; // Others change them just now.
        yield moved;
        await letOthersWork();
      }
    }
  }

  /** Moves the oldest readings that a part has of a day, as many as one file holds. */
  async #day(orgId: string, sources: readonly OldSource[], day: number): Promise<number> {
    const [first] = sources;
    if (!first) return 0;
    const through = await newestUpload(this.options.queries);
    const taken: SourceReadings[] = [];
    let [rows, bytes] = [0, 0];
    for (const { id, component_name, method_name } of sources) {
      if (rows >= MOST_ROWS || bytes >= MOST_BYTES) break;
      const readings = await this.#take(id, day, through, { rows, bytes });
      if (readings.length === 0) continue;
      rows += readings.length;
      bytes += bytesOf(readings);
      taken.push({ source: { id, component_name, method_name }, readings });
    }
    if (taken.length === 0) return 0;
    const file = await this.#writer.write(orgId, first.part_id, taken);
    try {
      await this.#writer.commit(file, async (transaction) => {
        for (const { source, readings } of taken) {
          for (let at = 0; at < readings.length; at += SLICE) {
            await takeOut(transaction, source.id, readings.slice(at, at + SLICE), through);
            await letOthersWork();
          }
          faultPoint("data.archive.deleted");
        }
      });
    } catch (error) {
      if (!(error instanceof ReadingsChangedError)) throw error;
      await this.options.files.remove(file.row.id); // The transaction was not committed.
      return 0;
    }
    return rows;
  }

  /** The oldest readings of a source and a day, as many as a file has room for. */
  async #take(
    sourceId: number,
    day: number,
    through: number,
    { rows, bytes }: { rows: number; bytes: number },
  ): Promise<StoredReading[]> {
    const taken: StoredReading[] = [];
    for (;;) {
      const last = taken.at(-1);
      let query = this.options.queries.selectFrom("tabular_readings").selectAll()
        .where("source_id", "=", sourceId).where("upload_id", "<=", through)
        .where("received_us", ">=", last?.received_us ?? day * DAY_US)
        .where("received_us", "<", (day + 1) * DAY_US)
        .orderBy("received_us").orderBy("upload_id").orderBy("position")
        .limit(Math.min(SLICE, MOST_ROWS - rows - taken.length));
      if (last) {
        query = query.where(sql<boolean>`(received_us, upload_id, position) >
          (${last.received_us}, ${last.upload_id}, ${last.position})`);
      }
      const found = await query.execute();
      for (const reading of found) {
        taken.push(reading);
        bytes += bytesOf([reading]);
        if (bytes >= MOST_BYTES) return taken;
      }
      if (found.length < SLICE) return taken;
      await letOthersWork();
    }
  }

  /** Makes one file of several that a part has of a day: uploads came late. */
  async #merge(
    orgId: string,
    signal: AbortSignal | undefined,
    failures: Failures,
  ): Promise<void> {
    const { queries } = this.options;
    const days = await queries.selectFrom("archived_files").select(["part_id", "day"])
      .where("org_id", "=", orgId).groupBy(["part_id", "day"])
      .having((eb) => eb.fn.countAll(), ">", 1).execute();
    for (const { part_id, day } of days) {
      if (signal?.aborted) return;
      const files = await queries.selectFrom("archived_files").selectAll()
        .where("org_id", "=", orgId).where("part_id", "=", part_id).where("day", "=", day)
        .orderBy("readings").orderBy("id").execute();
      const fitting = fittingTogether(files);
      if (fitting.length < 2) continue;
      try {
        await this.#rewriting.rewrite(fitting);
      } catch (error) {
        if (!(error instanceof ReadingsChangedError)) failures.add(error);
      }
      await letOthersWork();
    }
  }
}

/** Deletes readings that lie together. @throws {ReadingsChangedError} when they are not all there */
async function takeOut(
  transaction: Queries,
  sourceId: number,
  readings: readonly StoredReading[],
  through: number,
): Promise<void> {
  const [from, to] = [readings[0], readings.at(-1)];
  if (!from || !to) return;
  const rows = await transaction.deleteFrom("tabular_readings")
    .where("source_id", "=", sourceId).where("upload_id", "<=", through)
    // By them PostgreSQL knows which tables it is about.
    .where("received_us", ">=", from.received_us).where("received_us", "<=", to.received_us)
    .where(sql<boolean>`(received_us, upload_id, position) >=
      (${from.received_us}, ${from.upload_id}, ${from.position})`)
    .where(sql<boolean>`(received_us, upload_id, position) <=
      (${to.received_us}, ${to.upload_id}, ${to.position})`)
    .returning(sql<number>`octet_length(data)`.as("bytes")).execute();
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  if (rows.length === readings.length && bytes === bytesOf(readings)) return;
  throw new ReadingsChangedError("readings were deleted meanwhile");
}

/** The smallest files that one file has room for. */
function fittingTogether(files: readonly FileRow[]): FileRow[] {
  let [rows, bytes] = [0, 0];
  return files.filter(({ readings, reading_bytes }) => {
    rows += readings;
    bytes += reading_bytes;
    return rows <= MOST_ROWS && bytes <= MOST_BYTES;
  });
}
