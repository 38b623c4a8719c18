import { Failures } from "../../../shared/base/errors/failures.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { keepBlobsSwept } from "../../storage/blobs/blob_sweep.ts";
import type { Archived, ReadingsMover } from "./archive.ts";
import type { FileDeletion, TabularDeletion } from "./deletion.ts";
import { type ReadingWeeks, rowsBefore } from "./reading_weeks.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export interface DataUpkeepOptions {
  readonly queries: Queries;
  readonly clock: Clock;
  readonly tabular: TabularDeletion;
  readonly binary: FileDeletion;
  /** Where readings are in tables of weeks. */
  readonly weeks: ReadingWeeks | undefined;
  readonly archiver: ReadingsMover;
  readonly files: BlobStore;
}

const DAY_MS = 24 * 60 * 60_000;
const EVERY_MS = 10 * 60_000;

/**
 * Deletes what organisations do not want any more and what cut uploads left, and moves old readings
 * to files.
 */
export class DataUpkeep {
  constructor(private readonly options: DataUpkeepOptions) {}

  /** Works at the start and then every ten minutes until the signal aborts. */
  async run(log: Logger, signal: AbortSignal): Promise<void> {
    const { files, archiver, clock } = this.options;
    const archived = { sweep: (_: unknown, now: Date) => archiver.sweep(now) };
    await Promise.all([
      keepBlobsSwept(files, (id) => this.#isKnown(id), { clock, log, signal }),
      keepBlobsSwept(archived, () => Promise.resolve(true), { clock, log, signal }),
      this.#keepRetention(log, signal),
      this.#keepArchiving(log, signal),
    ]);
  }

  /**
   * Deletes what arrived longer ago than its organisation keeps data. The time of arrival counts,
   * not that of the machine, whose clock may be wrong. Where readings are in tables of weeks, it
   * makes the next ones, and rows wait until theirs can go as a whole.
   */
  async deleteOld(signal?: AbortSignal): Promise<{ readings: number; files: number }> {
    const { queries, clock, tabular, binary, weeks } = this.options;
    const settings = await queries.selectFrom("data_settings").selectAll()
      .where("retention_days", "is not", null).execute();
    const deleted = { readings: 0, files: 0 };
    const failures = new Failures();
    if (weeks) {
      await failures.during(() => weeks.makeAhead(), undefined);
      deleted.readings += await failures.during(() => weeks.dropExpired(signal), 0);
    }
    for (const { org_id, retention_days, archive_after_days } of settings) {
      const days = Number(retention_days);
      const before = new Date(clock.now().getTime() - days * DAY_MS);
      // Rows that wait must not be moved to files.
      const isWaiting = weeks && Number(archive_after_days) <= days;
      const rows = isWaiting ? rowsBefore(before, days) : before;
      deleted.readings += await failures.during(
        () => tabular.arrivedBefore(org_id, before, signal, rows),
        0,
      );
      deleted.files += await failures.during(
        () => binary.arrivedBefore(org_id, before, signal),
        0,
      );
    }
    failures.throwIfAny();
    return deleted;
  }

  /** Moves readings to files where their organisation wants that. */
  async archiveOld(signal?: AbortSignal): Promise<Archived> {
    return await this.options.archiver.run(signal);
  }

  /** Removes what cut uploads left, and what could not be removed in its time. @returns how many. */
  async sweep(): Promise<number> {
    const { files, archiver, clock } = this.options;
    const removed = await files.sweep((id) => this.#isKnown(id), clock.now());
    return removed + await archiver.sweep(clock.now());
  }

  async #isKnown(id: string): Promise<boolean> {
    const row = await this.options.queries.selectFrom("binary_data").select("id")
      .where("id", "=", id).executeTakeFirst();
    return row !== undefined;
  }

  async #keepRetention(log: Logger, signal: AbortSignal): Promise<void> {
    const turn = async () => {
      const deleted = await this.deleteOld(signal);
      if (deleted.readings + deleted.files > 0) {
        log.info("deleted data that its organisation does not keep any longer", deleted);
      }
    };
    const onFailure = (error: unknown) =>
      log.error("cannot delete old data; retrying", {
        event: "cleanup_failed",
        error: String(error),
      });
    const { clock } = this.options;
    await pollLoop(turn, { clock, intervalMs: EVERY_MS, onFailure }, signal);
  }

  async #keepArchiving(log: Logger, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const turn = async () => {
      const moved = await this.archiveOld(signal);
      if (moved.files > 0) log.info("moved old readings to files", { ...moved });
    };
    const onFailure = (error: unknown) =>
      log.error("cannot move old readings to files; they stay in the database, retrying", {
        event: "archive_failed",
        error: String(error),
      });
    await pollLoop(turn, { clock, intervalMs: EVERY_MS, onFailure }, signal);
  }
}
