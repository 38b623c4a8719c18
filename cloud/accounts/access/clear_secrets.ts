import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { SECRET_CLAIM } from "./claims.ts";

/**
 * Whether a machine may have the secrets of its location in clear. Stock servers of the family need
 * them to let programs in that sign in with such a secret. Our own server takes hashes and says so;
 * from then on its part secret opens no other machine, whoever sends it and whatever they say.
 */
export class ClearSecrets {
  readonly #noted = new Set<string>();

  constructor(private readonly queries: Queries) {}

  /** @param takesHashes what the request says of its sender */
  async mayHave(identity: Identity | undefined, takesHashes: boolean): Promise<boolean> {
    // The holder of a key that may ask in a machine's place may read the secrets anyway.
    if (identity?.credentialType !== "robot-secret") return !takesHashes;
    const secretId = identity.claims[SECRET_CLAIM] ?? "";
    if (this.#noted.has(secretId)) return false;
    if (takesHashes) {
      await this.queries.updateTable("part_secrets").set({ takes_hashes: 1 })
        .where("id", "=", secretId).where("takes_hashes", "=", 0).execute();
    } else {
      const row = await this.queries.selectFrom("part_secrets").select("takes_hashes")
        .where("id", "=", secretId).executeTakeFirst();
      if (row?.takes_hashes === 0) return true;
    }
    if (this.#noted.size < MOST_NOTED) this.#noted.add(secretId);
    return false;
  }
}

const MOST_NOTED = 50_000;
