import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";

/** A secret that was replaced signs for so long next to the new one. */
export const OVERLAP_MS = 24 * 60 * 60_000;

/** Which of a trigger's secrets count. */
export interface SecretGeneration {
  readonly generation: number;
  /** When the one before was replaced; undefined: it is the first. */
  readonly rotatedAtMs: number | undefined;
}

const FIRST: SecretGeneration = { generation: 1, rotatedAtMs: undefined };

/** The secrets with which webhooks are signed, one for each trigger. */
export class SigningSecrets {
  constructor(
    private readonly queries: Queries,
    private readonly secrets: DerivedSecrets,
    private readonly clock: Clock,
  ) {}

  async generationOf(partId: string, triggerName: string): Promise<SecretGeneration> {
    const row = await this.queries.selectFrom("trigger_secrets").selectAll()
      .where("part_id", "=", partId).where("trigger_name", "=", triggerName).executeTakeFirst();
    return row ? { generation: row.generation, rotatedAtMs: row.rotated_at } : FIRST;
  }

  /** Those that sign now, the newest first. */
  signing(
    partId: string,
    triggerName: string,
    { generation, rotatedAtMs }: SecretGeneration,
  ): Uint8Array[] {
    const secret = this.secrets.triggerSecret(partId, triggerName, generation);
    const isOverlap = rotatedAtMs !== undefined &&
      this.clock.now().getTime() - rotatedAtMs < OVERLAP_MS;
    if (!isOverlap) return [secret];
    return [secret, this.secrets.triggerSecret(partId, triggerName, generation - 1)];
  }

  /** Makes a new secret count. */
  async rotate(partId: string, triggerName: string): Promise<SecretGeneration> {
    const rotated = { rotated_at: this.clock.now().getTime() };
    await this.queries.insertInto("trigger_secrets").values({
      part_id: partId,
      trigger_name: triggerName,
      generation: FIRST.generation + 1,
      ...rotated,
    }).onConflict((conflict) =>
      conflict.columns(["part_id", "trigger_name"]).doUpdateSet((eb) => ({
        ...rotated,
        generation: eb("trigger_secrets.generation", "+", 1),
      }))
    ).execute();
    return await this.generationOf(partId, triggerName);
  }
}
