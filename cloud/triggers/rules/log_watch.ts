import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { LogIntake } from "../../fleet/logs/log_intake.ts";
import type { LogLine } from "../../fleet/logs/log_line.ts";
import type { LogStore } from "../../fleet/logs/log_store.ts";
import { addLook } from "./counts.ts";
import type { Firing } from "./firing.ts";
import { logFacts, MOST_TOLD_LINES } from "../events/facts.ts";
import type { PartTriggers } from "./part_triggers.ts";
import type { TriggerDefinition } from "./trigger_definition.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

export interface LogWatchOptions {
  readonly queries: Queries;
  readonly changes: Pick<ChangeFeed, "listen">;
  readonly triggers: Pick<PartTriggers, "of">;
  readonly firing: Pick<Firing, "fire">;
  readonly intake: Pick<LogIntake, "listen">;
  readonly logs: Pick<LogStore, "read">;
  /** Something was committed that may have to be sent. */
  readonly committed: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Least time between two notifications of one trigger: the reference's. */
export const TOLD_EVERY_MS = 60 * 60_000;
const LOOK_EVERY_MS = 60_000;
/** Where it is noted when a trigger last notified anybody. */
const PACE = "logs";
/** What the cloud itself says of a trigger that failed must not make another one fire. */
const OWN_LOGGER = "app.trigger.";

interface Watched {
  trigger: TriggerDefinition;
  /** The first ones since it last notified anybody. */
  readonly lines: LogLine[];
  count: number;
  lastMs: number;
}

/**
 * Looks at what machines log, for triggers of type `conditional_logs_ingested`. Lines of one hour go
 * together; the first after a quiet hour is notified within a minute. Lines that wait are found
 * again in the logs when the cloud has restarted.
 */
export class LogWatch {
  readonly #parts = new Map<string, Map<string, Watched>>();
  readonly #changed = new Set<string>();
  #allChanged = false;
  #isToReadAgain = false;
  readonly #stopListening: (() => void)[];

  constructor(private readonly options: LogWatchOptions) {
    const { changes, intake } = options;
    this.#stopListening = [
      changes.listen(({ kind, partId }) => {
        if (kind !== "config") return;
        if (partId === undefined) this.#allChanged = true;
        else this.#changed.add(partId);
      }),
      intake.listen((partId, lines) => this.#logged(partId, lines)),
    ];
  }

  /** Finds the triggers there are, and the lines that wait for them. */
  async load(): Promise<void> {
    for (const partId of await this.#partsWithTriggers()) await this.#follow(partId);
    for (const [partId, watched] of this.#parts) {
      for (const one of watched.values()) await this.#readWaiting(partId, one);
    }
  }

  /** Lines that another node had in memory are looked for in the logs with the next look. */
  readAgain(): void {
    this.#isToReadAgain = true;
  }

  /** Looks every minute until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.options;
    const intervalMs = LOOK_EVERY_MS;
    const onFailure = (error: unknown) =>
      log.error("cannot look at what machines logged; retrying", {
        event: "trigger_failed",
        error: String(error),
      });
    const waits = { clock, intervalMs, firstMs: intervalMs, onFailure };
    await pollLoop(() => this.look(), waits, signal);
  }

  /** Follows changed configurations, and shows what is due. */
  async look(): Promise<void> {
    if (this.#allChanged) {
      this.#allChanged = false;
      for (const partId of await this.#partsWithTriggers()) this.#changed.add(partId);
      for (const partId of this.#parts.keys()) this.#changed.add(partId);
    }
    for (const partId of [...this.#changed]) {
      await this.#follow(partId);
      this.#changed.delete(partId);
    }
    if (this.#isToReadAgain) {
      this.#isToReadAgain = false;
      for (const [partId, watched] of this.#parts) {
        for (const one of watched.values()) await this.#readMissed(partId, one);
      }
    }
    for (const [partId, watched] of this.#parts) {
      for (const one of watched.values()) {
        const nowMs = this.options.clock.now().getTime();
        if (one.count > 0 && !isWithinPace(one.lastMs, nowMs)) await this.#tell(partId, one);
      }
    }
  }

  close(): void {
    for (const stop of this.#stopListening) stop();
  }

  #logged(partId: string, lines: readonly LogLine[]): void {
    for (const watched of this.#parts.get(partId)?.values() ?? []) keep(watched, lines);
  }

  async #partsWithTriggers(): Promise<string[]> {
    const rows = await this.options.queries.selectFrom("parts")
      .innerJoin("part_configs", "part_configs.part_id", "parts.id")
      .select("parts.id").where("part_configs.config", "like", "%conditional_logs_ingested%")
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Takes over what the configuration of a part says now. */
  async #follow(partId: string): Promise<void> {
    const { queries, triggers, clock } = this.options;
    const wanted = (await triggers.of(queries, partId))
      .filter(({ type }) => type === "conditional_logs_ingested");
    const before = this.#parts.get(partId);
    if (wanted.length === 0) return void this.#parts.delete(partId);
    const rows = await queries.selectFrom("notification_paces").select(["trigger_name", "last_at"])
      .where("part_id", "=", partId).where("notification", "=", PACE).execute();
    const lastAt = new Map(rows.map((row) => [row.trigger_name, row.last_at]));
    const watched = new Map<string, Watched>();
    for (const trigger of wanted) {
      let lastMs = lastAt.get(trigger.name);
      if (lastMs === undefined) {
        // Due with the first line.
        lastMs = clock.now().getTime() - TOLD_EVERY_MS;
        await notePace(queries, partId, trigger.name, lastMs);
      }
      const known = before?.get(trigger.name);
      if (known) known.trigger = trigger;
      watched.set(trigger.name, known ?? { trigger, lines: [], count: 0, lastMs });
    }
    this.#parts.set(partId, watched);
  }

  async #readMissed(partId: string, watched: Watched): Promise<void> {
    const told = await lastTold(this.options.queries, partId, watched.trigger.name);
    if (told !== undefined) watched.lastMs = Math.max(watched.lastMs, told);
    await this.#readWaiting(partId, watched);
  }

  async #readWaiting(partId: string, watched: Watched): Promise<void> {
    const { lines } = await this.options.logs.read(partId, {
      filter: {
        levels: [...watched.trigger.logLevels],
        fromNs: BigInt(watched.lastMs + 1) * 1_000_000n,
      },
      limit: MOST_TOLD_LINES,
      order: "oldest-first",
    });
    const known = new Set(watched.lines.map(keyOf));
    keep(watched, lines.filter((line) => !known.has(keyOf(line))));
  }

  async #tell(partId: string, watched: Watched): Promise<void> {
    const { queries, firing, clock, committed } = this.options;
    const { trigger, count } = watched;
    const lines = watched.lines.slice();
    const at = clock.now();
    const isDue = await queries.transaction().execute(async (transaction) => {
      const last = await lastTold(transaction, partId, trigger.name);
      // Another node has notified of lines that came there.
      if (last !== undefined && last !== watched.lastMs && isWithinPace(last, at.getTime())) {
        watched.lastMs = last;
        return false;
      }
      const fired = await firing.fire(transaction, partId, trigger, {
        at,
        facts: () => logFacts(lines),
        evaluation: () => ({ lines: count, log_levels: [...trigger.logLevels] }),
      });
      const look = { at, fired, incomparable: 0, problem: "" };
      await addLook(transaction, partId, trigger.name, look);
      await notePace(transaction, partId, trigger.name, at.getTime());
      return true;
    });
    if (!isDue) return;
    watched.lastMs = at.getTime();
    watched.count -= count;
    watched.lines.splice(0, lines.length);
    committed();
  }
}

function keyOf({ timeNs, digest }: LogLine): string {
  return `${timeNs} ${digest}`;
}

async function lastTold(
  queries: Queries,
  partId: string,
  triggerName: string,
): Promise<number | undefined> {
  const row = await queries.selectFrom("notification_paces").select("last_at")
    .where("part_id", "=", partId).where("trigger_name", "=", triggerName)
    .where("notification", "=", PACE).executeTakeFirst();
  return row?.last_at;
}

/** A last time in the future comes from a clock that was set back. */
function isWithinPace(lastMs: number, nowMs: number): boolean {
  return lastMs <= nowMs && nowMs - lastMs < TOLD_EVERY_MS;
}

function keep(watched: Watched, lines: readonly LogLine[]): void {
  for (const line of lines) {
    if (!watched.trigger.logLevels.has(line.level) || line.logger.startsWith(OWN_LOGGER)) continue;
    watched.count++;
    if (watched.lines.length < MOST_TOLD_LINES) watched.lines.push(line);
  }
}

async function notePace(
  queries: Queries,
  partId: string,
  triggerName: string,
  lastMs: number,
): Promise<void> {
  const row = { part_id: partId, trigger_name: triggerName, notification: PACE, last_at: lastMs };
  await queries.insertInto("notification_paces").values(row)
    .onConflict((conflict) =>
      conflict.columns(["part_id", "trigger_name", "notification"]).doUpdateSet({ last_at: lastMs })
    ).execute();
}
