import { timingSafeEqual } from "node:crypto";
import type { Selectable } from "kysely";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { LocationSecretsTable, PartSecretsTable } from "../../storage/database/schema.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";

/** A secret in clear, with the id that stands for it in the database. */
export interface SharedSecretValue {
  readonly id: string;
  readonly value: string;
  readonly createdAtMs: number;
}

/** The secrets of parts and locations that are in force, newest first. */
export class SharedSecrets {
  constructor(private readonly queries: Queries, private readonly derived: DerivedSecrets) {}

  async ofPart(partId: string): Promise<SharedSecretValue[]> {
    const rows: Selectable<PartSecretsTable>[] = await this.queries.selectFrom("part_secrets")
      .selectAll().where("part_id", "=", partId).where("state", "=", "enabled")
      .orderBy("created_at", "desc").orderBy("id").execute();
    return rows.map((row) => ({
      id: row.id,
      value: this.derived.partSecret(partId, row.id),
      createdAtMs: row.created_at,
    }));
  }

  async ofLocation(locationId: string): Promise<SharedSecretValue[]> {
    const rows: Selectable<LocationSecretsTable>[] = await this.queries
      .selectFrom("location_secrets").selectAll()
      .where("location_id", "=", locationId).where("state", "=", "enabled")
      .orderBy("created_at", "desc").orderBy("id").execute();
    return rows.map((row) => ({
      id: row.id,
      value: this.derived.locationSecret(locationId, row.id),
      createdAtMs: row.created_at,
    }));
  }
}

/**
 * The secret that equals `payload`, compared in a time that does not show how much of it is right.
 */
export function matchingSecret(
  secrets: readonly SharedSecretValue[],
  payload: string,
): SharedSecretValue | undefined {
  const given = new TextEncoder().encode(payload);
  return secrets.find(({ value }) => {
    const wanted = new TextEncoder().encode(value);
    return wanted.length === given.length && timingSafeEqual(wanted, given);
  });
}
