import { hashKey, type KeyCost } from "../../../shared/cloud/auth/key_hash.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import type { Random } from "../../storage/keys/random.ts";
import { insertKey } from "./api_keys.ts";
import type { MachineRow } from "./scope.ts";

const PURPOSE = "machine-key";

/**
 * A key for each machine that its owners can be determined again and again. Clients of the public
 * API request the keys of a machine and connect to it with the first; of all others only hashes are
 * kept. It is computed from the cloud's master secret, and opens this one machine.
 */
export class MachineKeys {
  constructor(
    private readonly queries: Queries,
    private readonly changes: ChangeFeed,
    private readonly secrets: DerivedSecrets,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly keyCost?: KeyCost,
  ) {}

  /** The machine's key; made when it has none, or when the last one was deleted. */
  async of(machine: Pick<MachineRow, "id" | "org_id">): Promise<{ id: string; key: string }> {
    const known = await this.#known(machine.id);
    const valid = known.find((row) => row.deletedAt === null);
    if (valid) return this.#told(machine.id, valid);
    const generation = 1 + Math.max(0, ...known.map((row) => row.generation));
    const hash = await hashKey(this.secrets.machineKey(machine.id, generation), this.keyCost);
    const made = await this.queries.transaction().execute(async (transaction) => {
      // Two that ask at once get the same key.
      const other = (await this.#known(machine.id, transaction)).find((row) =>
        row.generation >= generation
      );
      if (other) return other;
      const id = this.random.uuid();
      await insertKey(transaction, {
        id,
        orgId: machine.org_id,
        name: "machine",
        hash,
        grants: [{ role: "owner", resource: "robot", id: machine.id }],
        derivedAs: `${PURPOSE}:${machine.id}:${generation}`,
      }, this.clock.now());
      return { id, generation };
    });
    await this.changes.drain();
    return this.#told(machine.id, made);
  }

  #told(machineId: string, { id, generation }: { id: string; generation: number }) {
    return { id, key: this.secrets.machineKey(machineId, generation) };
  }

  async #known(machineId: string, queries: Queries = this.queries) {
    const rows = await queries.selectFrom("api_keys").select(["id", "derived_as", "deleted_at"])
      // A span, which the index finds; it has no use for LIKE.
      .where("derived_as", ">=", `${PURPOSE}:${machineId}:`)
      .where("derived_as", "<", `${PURPOSE}:${machineId};`).execute();
    return rows.map((row) => ({
      id: row.id,
      deletedAt: row.deleted_at,
      generation: Number(row.derived_as?.split(":").at(-1)),
    }));
  }
}
