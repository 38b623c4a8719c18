import { Code } from "@connectrpc/connect";
import type { Selectable } from "kysely";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { SequenceExportsTable } from "../../storage/database/sequence_schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import {
  BlobStorageError,
  type BlobStore,
  BlobTooLargeError,
} from "../../storage/blobs/blob_store.ts";
import { keepBlobsSwept } from "../../storage/blobs/blob_sweep.ts";
import { type ExportedDataset, exportEntries, type ExportSources } from "./export_entries.ts";
import { tarGz } from "./tar_stream.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export type ExportRow = Selectable<SequenceExportsTable>;

export interface SequenceExportsOptions extends ExportSources {
  /** Holds the archives. */
  readonly archives: BlobStore;
  readonly clock: Clock;
  /** By it, archives are too old; left out: `clock`. */
  readonly cautious?: Clock;
  readonly random: Random;
  /** Reports that there is something to pack; left out: {@link SequenceExports.wake}. */
  readonly begun?: () => Promise<void>;
  readonly log: Logger;
}

/** How long an archive is kept, milliseconds. */
export const EXPORT_KEPT_MS = 24 * 60 * 60_000;
const LARGEST_BYTES = 64 * 1024 ** 3;
/** Archives of an organisation that has so much of them begin no other one. */
const MOST_KEPT_BYTES = LARGEST_BYTES;
/** Exports of one organisation that run or wait. */
const MOST_RUNNING = 10;
const CLEAN_EVERY_MS = 10 * 60_000;

/**
 * Packs datasets of sequences, one after the other. Those that a stopped cloud left are begun again
 * by the next one.
 */
export class SequenceExports {
  readonly #wakes = new Watched(0);

  constructor(private readonly options: SequenceExportsOptions) {}

  /** Begins an export, or gives the one of this dataset that runs. @returns its id */
  async start(dataset: ExportedDataset): Promise<string> {
    const { queries, random, clock } = this.options;
    const id = await queries.transaction().execute(async (transaction) => {
      const running = await transaction.selectFrom("sequence_exports").select(["id", "dataset_id"])
        .where("org_id", "=", dataset.org_id).where("state", "=", "running").execute();
      const same = running.find(({ dataset_id }) => dataset_id === dataset.id);
      if (same) return same.id;
      if (running.length >= MOST_RUNNING) {
        throw refusal(
          "TRY_LATER",
          {},
          `${MOST_RUNNING} exports of this organisation are running; try again when one is done`,
          Code.ResourceExhausted,
        );
      }
      const { kept } = await transaction.selectFrom("sequence_exports")
        .select((eb) => eb.fn.sum<number | null>("size").as("kept"))
        .where("org_id", "=", dataset.org_id).where("dataset_id", "!=", dataset.id)
        .executeTakeFirstOrThrow();
      if (Number(kept) >= MOST_KEPT_BYTES) {
        throw refusal(
          "TRY_LATER",
          {},
          `the exports of this organisation have ${kept} bytes; try again when some of them are ` +
            "a day old, or delete their datasets",
          Code.ResourceExhausted,
        );
      }
      const row = {
        id: random.uuid(),
        org_id: dataset.org_id,
        dataset_id: dataset.id,
        state: "running" as const,
        error: "",
        size: 0,
        sha256: "",
        created_at: clock.now().getTime(),
        completed_at: null,
      };
      await transaction.insertInto("sequence_exports").values(row).execute();
      return row.id;
    });
    // Where it fails, the export is found with the next look.
    await this.options.begun?.().catch(() => undefined);
    if (!this.options.begun) this.wake();
    return id;
  }

  /** There is something to pack. */
  wake(): void {
    this.#wakes.value++;
  }

  async byId(id: string): Promise<ExportRow | undefined> {
    return await this.options.queries.selectFrom("sequence_exports").selectAll()
      .where("id", "=", id).executeTakeFirst();
  }

  /** Opens an archive that is there. */
  get archives(): Pick<BlobStore, "read"> {
    return this.options.archives;
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { archives, clock, cautious = clock, log } = this.options;
    const isKnown = async (id: string) => await this.byId(id) !== undefined;
    await Promise.all([
      keepBlobsSwept(archives, isKnown, { clock: cautious, log, signal }),
      this.#keepWorking(signal),
    ]);
  }

  async #keepWorking(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    const turn = async () => {
      await this.work(signal);
      await this.clean();
    };
    const onFailure = (error: unknown) =>
      log.error("cannot look after exports; retrying", {
        event: "export_failed",
        error: String(error),
      });
    const waits = { clock, intervalMs: CLEAN_EVERY_MS, changes: [this.#wakes], onFailure };
    await pollLoop(turn, waits, signal);
  }

  /** Packs everything that was begun. */
  async work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const row = await this.options.queries.selectFrom("sequence_exports").selectAll()
        .where("state", "=", "running").orderBy("seq").limit(1).executeTakeFirst();
      if (!row) return;
      await this.#pack(row, signal);
    }
  }

  /** Removes what is older than a day. */
  async clean(): Promise<void> {
    const { queries, clock, cautious = clock, archives } = this.options;
    const before = cautious.now().getTime() - EXPORT_KEPT_MS;
    const old = await queries.deleteFrom("sequence_exports").where("completed_at", "<", before)
      .returning("id").execute();
    for (const { id } of old) await archives.remove(id);
  }

  async #pack(row: ExportRow, signal: AbortSignal): Promise<void> {
    const { queries, archives, clock, log } = this.options;
    const { id } = row;
    const dataset = await queries.selectFrom("datasets").select(["id", "org_id", "name"])
      .where("id", "=", row.dataset_id).executeTakeFirst();
    if (!dataset) return;
    try {
      const entries = exportEntries(this.options, dataset, clock.now());
      const contents = heeding(tarGz(entries), signal);
      const { size, sha256 } = await archives.receive(id, contents, LARGEST_BYTES);
      faultPoint("sequences.export.stored");
      const kept = await this.#end(id, { state: "completed", size, sha256 });
      // Its dataset was deleted meanwhile.
      if (!kept) await archives.remove(id);
    } catch (error) {
      if (signal.aborted) return;
      log.error("an export of sequences failed", {
        event: "export_failed",
        export: id,
        error: String(error),
      });
      return void await this.#end(id, { state: "failed", error: reasonOf(error) });
    }
    await this.#removeBefore(row);
  }

  /** Removes what exports of the same dataset gave earlier: many would fill the disk. */
  async #removeBefore({ seq, dataset_id }: ExportRow): Promise<void> {
    const { queries, archives } = this.options;
    const old = await queries.deleteFrom("sequence_exports").where("dataset_id", "=", dataset_id)
      .where("seq", "<", seq).where("state", "=", "completed").returning("id").execute();
    for (const { id } of old) await archives.remove(id);
  }

  async #end(id: string, change: Partial<ExportRow>): Promise<boolean> {
    const { queries, clock } = this.options;
    const { state, error = "", size = 0, sha256 = "" } = change;
    const { numUpdatedRows } = await queries.updateTable("sequence_exports")
      .set({ state: state ?? "failed", error, size, sha256, completed_at: clock.now().getTime() })
      .where("id", "=", id).executeTakeFirst();
    return numUpdatedRows > 0n;
  }
}

async function* heeding(
  contents: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  for await (const bytes of contents) {
    signal.throwIfAborted();
    yield bytes;
  }
}

/** What is shown to people. */
function reasonOf(error: unknown): string {
  if (error instanceof BlobTooLargeError) {
    return `the export is larger than ${LARGEST_BYTES} bytes; make several smaller datasets`;
  }
  if (error instanceof BlobStorageError) {
    return "the cloud's storage of files is unavailable; start the export again later";
  }
  return "the export could not be written; its reason is in the log of the cloud";
}
