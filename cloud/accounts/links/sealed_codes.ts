import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { z } from "zod";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { openText, sealText } from "../../storage/keys/sealed_text.ts";

const HOUR_MS = 60 * 60_000;

export interface SealedCodesOptions<Value> {
  /** 32 bytes, the same on all nodes, for this purpose alone. */
  readonly key: Uint8Array;
  readonly schema: z.ZodType<Value>;
  readonly lastsMs: number;
  readonly queries: Queries;
  readonly clock: Pick<Clock, "now">;
}

/** A code that was sealed here and is not too old. It may have been used. */
export interface OpenedCode<Value> {
  readonly id: string;
  readonly untilMs: number;
  readonly value: Value;
}

/**
 * Codes that carry what they stand for, so that whoever has one made costs nothing here, and that
 * every node opens. Only a code that is used up makes a row, until it expires.
 */
export class SealedCodes<Value> {
  constructor(private readonly options: SealedCodesOptions<Value>) {}

  /** Base64url; some 100 characters and a third more than the value as JSON. */
  seal(value: Value): string {
    const { key, lastsMs, clock } = this.options;
    const id = randomBytes(16).toString("base64url");
    const text = JSON.stringify({ id, untilMs: clock.now().getTime() + lastsMs, value });
    return Buffer.from(sealText(key, text), "base64").toString("base64url");
  }

  /** Undefined: it is no code of these, or it has expired. */
  open(code: string): OpenedCode<Value> | undefined {
    const text = openText(this.options.key, code);
    if (text === undefined) return undefined;
    const { id, untilMs, value } = JSON.parse(text) as OpenedCode<unknown>;
    if (untilMs <= this.options.clock.now().getTime()) return undefined;
    const parsed = this.options.schema.safeParse(value);
    return parsed.success ? { id, untilMs, value: parsed.data } : undefined;
  }

  async isUsed({ id }: OpenedCode<Value>): Promise<boolean> {
    const row = await this.options.queries.selectFrom("used_codes").select("id")
      .where("id", "=", id).executeTakeFirst();
    return row !== undefined;
  }

  /** Uses a code up. Of all that try, on whichever node, one gets true. */
  async use({ id, untilMs }: OpenedCode<Value>): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await this.options.queries.insertInto("used_codes")
      .values({ id, expires_at: untilMs }).onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
  }
}

/** Forgets codes that were used up and have expired on every node, however its clock is set. */
export async function sweepUsedCodes(queries: Queries, now: Date): Promise<void> {
  await queries.deleteFrom("used_codes").where("expires_at", "<", now.getTime() - HOUR_MS)
    .execute();
}
