import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

export interface ChangedPartsOptions {
  readonly queries: Queries;
  readonly clock: Clock;
  readonly log: Logger;
  /** The log line when they cannot be written. */
  readonly failure: string;
  /** Parts that count as changed at each write. */
  readonly always?: () => Iterable<string>;
  /** Writes the rows of these parts, which exist. */
  readonly save: (partIds: readonly string[]) => Promise<void>;
  /** The part was deleted; its row would be refused. */
  readonly forget: (partId: string) => void;
}

const WRITE_EVERY_MS = 30_000;
const WRITE_SLICE = 200;

/**
 * Parts of which something changed that is kept in memory, because every call of every machine
 * changes it: their rows are written every 30 seconds and at the end.
 */
export class ChangedParts {
  readonly #ids = new Set<string>();

  constructor(private readonly options: ChangedPartsOptions) {}

  add(partId: string): void {
    this.#ids.add(partId);
  }

  /** Another node writes it. */
  delete(partId: string): void {
    this.#ids.delete(partId);
  }

  /** Those that are not written yet. */
  ids(): string[] {
    return [...this.#ids];
  }

  /** Writes to the database now and then until the signal aborts, and once more then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, failure } = this.options;
    const write = () =>
      this.write().catch((error) =>
        log.error(failure, { event: "presence_not_written", error: String(error) })
      );
    await pollLoop(write, { clock, intervalMs: WRITE_EVERY_MS, firstMs: WRITE_EVERY_MS }, signal);
    await write();
  }

  /** Writes what changed since the last time. */
  async write(): Promise<void> {
    const changed = [...new Set([...this.#ids, ...this.options.always?.() ?? []])];
    for (let at = 0; at < changed.length; at += WRITE_SLICE) {
      const slice = changed.slice(at, at + WRITE_SLICE);
      for (const id of slice) this.#ids.delete(id);
      try {
        await this.#writeSlice(slice);
      } catch (error) {
        for (const id of slice) this.#ids.add(id);
        throw error;
      }
    }
  }

  async #writeSlice(slice: readonly string[]): Promise<void> {
    const existing = await this.options.queries.selectFrom("parts").select("id")
      .where("id", "in", slice).execute();
    const ids = new Set(existing.map((row) => row.id));
    for (const id of slice) if (!ids.has(id)) this.options.forget(id);
    if (ids.size > 0) await this.options.save([...ids]);
  }
}
