import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { AttemptLimiter } from "../../../shared/cloud/auth/attempt_limiter.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import { alphanumeric, type Random } from "../../storage/keys/random.ts";
import type { UserRow } from "../people/users.ts";
import { base32, fittingStep, otpauthUrl } from "./totp.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

const RECOVERY_CODES = 10;
/** Letters and digits; 62 bits. */
const RECOVERY_LENGTH = 12;
/** Wrong codes of one person, wherever they come from: with these, guessing takes years. */
const LIMITS = { burst: 10, perMinute: 2 };

export interface SecondFactorOptions {
  readonly queries: Queries;
  readonly secrets: DerivedSecrets;
  readonly clock: Clock;
  readonly random: Random;
  /** What authenticators list the account under. */
  readonly issuerName: () => string;
}

/**
 * Codes of an authenticator as second factor (RFC 6238). The secrets are computed from the cloud's
 * master secret; the database holds none.
 */
export class SecondFactor {
  /** Counts wrong codes by person. */
  readonly limiter: AttemptLimiter;

  constructor(private readonly options: SecondFactorOptions) {
    const limits = { entity: LIMITS, address: LIMITS };
    this.limiter = new AttemptLimiter(
      () => options.clock.monotonicMs(),
      limits,
      options.secrets.attemptsKey(),
    );
  }

  /** A new secret, which counts when it was confirmed. @throws {ConnectError} when there is one. */
  async start(user: UserRow): Promise<{ secret: string; url: string }> {
    requireNone(user);
    const generation = user.totp_generation + 1;
    await this.options.queries.updateTable("users")
      .set({ totp_generation: generation, totp_last_step: 0 })
      .where("id", "=", user.id).where("totp_enabled", "=", 0).execute();
    const secret = this.options.secrets.secondFactorSecret(user.id, generation);
    return {
      secret: base32(secret),
      url: otpauthUrl(secret, user.email, this.options.issuerName()),
    };
  }

  /** Turns it on, and gives the recovery codes. @throws {ConnectError} for a wrong code */
  async confirm(user: UserRow, code: string): Promise<string[]> {
    requireNone(user);
    if (user.totp_generation === 0) {
      throw refusal(
        "CHANGED_MEANWHILE",
        {},
        "start it first with StartSecondFactor",
        Code.FailedPrecondition,
      );
    }
    const { random } = this.options;
    const codes = Array.from({ length: RECOVERY_CODES }, () => recoveryCode(random));
    const isRight = await this.#attempt(user, code, async (transaction) => {
      if (!await this.#takeCode(transaction, user, code)) throw new WrongCode();
      await transaction.updateTable("users").set({ totp_enabled: 1 }).where("id", "=", user.id)
        .execute();
      await transaction.deleteFrom("recovery_codes").where("user_id", "=", user.id).execute();
      await transaction.insertInto("recovery_codes")
        .values(codes.map((each) => ({ user_id: user.id, hash: hashOf(each) }))).execute();
    });
    if (isRight) return codes;
    throw refusal(
      "CODE_NOT_OF_NOW",
      {},
      "code: it is not the one of this moment; is the clock of your device right?",
      Code.InvalidArgument,
    );
  }

  /**
   * Whether a code of the authenticator, or a recovery code, is right; it is used up then.
   *
   * @throws {ConnectError} RESOURCE_EXHAUSTED after too many wrong ones
   */
  async take(user: UserRow, code: string): Promise<boolean> {
    return await this.#attempt(user, code, async (transaction) => {
      if (await this.#takeCode(transaction, user, code)) return;
      const { numDeletedRows } = await transaction.deleteFrom("recovery_codes")
        .where("user_id", "=", user.id).where("hash", "=", hashOf(code)).executeTakeFirst();
      if (numDeletedRows === 0n) throw new WrongCode();
    });
  }

  /** Takes the second factor away. Call it in a transaction. */
  async remove(transaction: Queries, userId: string): Promise<void> {
    await transaction.updateTable("users").set({ totp_enabled: 0, totp_last_step: 0 })
      .where("id", "=", userId).execute();
    await transaction.deleteFrom("recovery_codes").where("user_id", "=", userId).execute();
  }

  async recoveryCodesLeft(userId: string): Promise<number> {
    const { count } = await this.options.queries.selectFrom("recovery_codes")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("user_id", "=", userId).executeTakeFirstOrThrow();
    return Number(count);
  }

  /** @param work throws for a wrong code, which leaves nothing behind, in the audit log neither */
  async #attempt(
    user: UserRow,
    code: string,
    work: (transaction: Queries) => Promise<void>,
  ): Promise<boolean> {
    const credential = { type: "second factor", entity: user.id, payload: code };
    const outcome = await this.limiter.attempt({ address: user.id, credential }, async () => {
      try {
        await this.options.queries.transaction().execute(work);
        return true;
      } catch (error) {
        if (error instanceof WrongCode) return undefined;
        throw error;
      }
    });
    if (outcome.kind === "refused") {
      throw refusal(
        "CODES_WRONG",
        {},
        "too many wrong codes for this account; wait a few minutes",
        Code.ResourceExhausted,
      );
    }
    return outcome.kind === "right";
  }

  /** A code counts once: two that come with the same one at once are not both let in. */
  async #takeCode(transaction: Queries, user: UserRow, code: string): Promise<boolean> {
    const row = await transaction.selectFrom("users").select(["totp_generation", "totp_last_step"])
      .where("id", "=", user.id).executeTakeFirst();
    if (!row) return false;
    const secret = this.options.secrets.secondFactorSecret(user.id, row.totp_generation);
    const step = fittingStep(secret, code, this.options.clock.now(), row.totp_last_step);
    if (step === undefined) return false;
    await transaction.updateTable("users").set({ totp_last_step: step }).where("id", "=", user.id)
      .execute();
    return true;
  }
}

class WrongCode extends Error {}

function requireNone(user: UserRow): void {
  if (user.totp_enabled === 0) return;
  throw refusal(
    "CHANGED_MEANWHILE",
    {},
    "this account has a second factor; remove it first to set up another",
    Code.FailedPrecondition,
  );
}

function recoveryCode(random: Random): string {
  return alphanumeric(random, RECOVERY_LENGTH).replace(/(.{4})(?=.)/g, "$1-");
}

function hashOf(code: string): string {
  const plain = code.toLowerCase().replace(/[^a-z0-9]/g, "");
  return createHash("sha256").update(`recovery code\0${plain}`).digest("base64url");
}
