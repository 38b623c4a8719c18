import type { JsonObject } from "@bufbuild/protobuf";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { readTriggers, type TriggerDefinition } from "./trigger_definition.ts";

const KEPT_PARTS = 20_000;
const NONE: readonly TriggerDefinition[] = [];

/**
 * The triggers of parts that may fire, ready for readings: they are requested with every upload and
 * change rarely. What is kept of a part goes when its configuration changed, also when another
 * process changed it, within about half a second.
 */
export class PartTriggers {
  readonly #kept = new Map<string, readonly TriggerDefinition[]>();
  readonly #stopListening: () => void;

  constructor(changes: Pick<ChangeFeed, "listen">) {
    this.#stopListening = changes.listen(({ kind, partId }) => {
      if (kind !== "config") return;
      if (partId === undefined) this.#kept.clear();
      else this.#kept.delete(partId);
    });
  }

  close(): void {
    this.#stopListening();
  }

  /** @param queries the open transaction, where there is one: it has the only connection */
  async of(queries: Queries, partId: string): Promise<readonly TriggerDefinition[]> {
    const kept = this.#kept.get(partId);
    if (kept) return kept;
    const triggers = await readPart(queries, partId);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= KEPT_PARTS) this.#kept.delete(oldest);
    this.#kept.set(partId, triggers);
    return triggers;
  }
}

async function readPart(queries: Queries, partId: string): Promise<readonly TriggerDefinition[]> {
  const row = await queries.selectFrom("parts")
    .innerJoin("part_configs", "part_configs.part_id", "parts.id")
    .select("part_configs.config").where("parts.id", "=", partId).executeTakeFirst();
  if (!row?.config.includes('"triggers"')) return NONE;
  const triggers = readTriggers(JSON.parse(row.config) as JsonObject)
    .flatMap(({ definition, isDisabled }) => definition && !isDisabled ? [definition] : []);
  return triggers.length === 0 ? NONE : triggers;
}
