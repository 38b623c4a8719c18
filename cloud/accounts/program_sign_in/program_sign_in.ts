import { createHash, timingSafeEqual } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import { z } from "zod";
import {
  type AttemptLimiter,
  TOO_MANY_ATTEMPTS,
} from "../../../shared/cloud/auth/attempt_limiter.ts";
import { addressBlock } from "../../../shared/rpc/server/address_block.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { alphanumeric, type Random } from "../../storage/keys/random.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import { SealedCodes } from "../links/sealed_codes.ts";
import type { UserRow } from "../people/users.ts";
import type { Origin, SessionRow, Sessions, Started } from "../sessions/sessions.ts";
import { userCode } from "./user_code.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** The session of the person who lets a program in. */
export interface Approver {
  readonly userId: string;
  readonly sessionId: string;
}

/** A program without a browser that waits for a person. */
export interface WaitingDevice {
  readonly userCode: string;
  /** What it calls itself. */
  readonly clientName: string;
  readonly address: string;
}

const grantSchema = z.object({
  userId: z.string(),
  sessionId: z.string(),
  challenge: z.string(),
  redirectUri: z.string(),
});

export interface ProgramSignInOptions {
  readonly queries: Queries;
  readonly sessions: Pick<Sessions, "list">;
  readonly signIn: {
    /** Begins a session that ends at `mostMs`, milliseconds since 1970, at the latest. */
    begin(
      user: UserRow,
      method: "command line",
      origin: Origin,
      mostMs: number | undefined,
    ): Promise<Started>;
  };
  readonly secrets: Pick<DerivedSecrets, "signInKey">;
  readonly limiter: AttemptLimiter;
  readonly clock: Clock;
  readonly random: Random;
}

/** Seconds between two questions of a device; RFC 8628 takes 5 where nothing is said. */
export const INTERVAL_S = 2;
const DEVICE_MS = 10 * 60_000;
const CODE_MS = 60_000;
const MOST_DEVICES = 2_000;
const MOST_DEVICES_OF_ONE = 20;
const TOKEN_LENGTH = 40;
const LONGEST_NAME = 80;

/**
 * Sessions for programs on people's computers, which a person who is signed in with a browser lets
 * in: by a code that the browser brings to the program (RFC 8252 with PKCE), or by a short code that
 * the person types (RFC 8628). It may end on another node than the one on which it began.
 */
export class ProgramSignIn {
  readonly #codes: SealedCodes<z.infer<typeof grantSchema>>;
  /** When devices polled this node last, by the hash of their code. */
  readonly #asked = new Map<string, number>();

  constructor(private readonly options: ProgramSignInOptions) {
    const { queries, clock, secrets } = options;
    const key = secrets.signInKey("program");
    this.#codes = new SealedCodes({ queries, clock, key, schema: grantSchema, lastsMs: CODE_MS });
  }

  /**
   * A code for the program at a redirect URI.
   *
   * @param challenge SHA-256 of what only the program knows, base64url
   */
  grant(
    { userId, sessionId }: Approver,
    { challenge, redirectUri }: { readonly challenge: string; readonly redirectUri: string },
  ): string {
    return this.#codes.seal({ userId, sessionId, challenge, redirectUri });
  }

  /** @throws {ConnectError} UNAUTHENTICATED, RESOURCE_EXHAUSTED */
  async exchange(
    { code, verifier, redirectUri }: {
      readonly code: string;
      readonly verifier: string;
      readonly redirectUri: string;
    },
    origin: Origin,
  ): Promise<{ session: Started; user: UserRow }> {
    const grant = await this.#limited(origin, async () => {
      const opened = this.#codes.open(code);
      // Whoever has the code and not the verifier uses it up: it was stolen.
      if (!opened || !await this.#codes.use(opened)) return undefined;
      const challenge = createHash("sha256").update(verifier).digest("base64url");
      const isRight = opened.value.redirectUri === redirectUri &&
        isEqual(challenge, opened.value.challenge);
      return isRight ? opened.value : undefined;
    });
    if (!grant) {
      throw new ConnectError("this code counts no more; begin again", Code.Unauthenticated);
    }
    return await this.#begin(grant, origin);
  }

  /** @throws {ConnectError} RESOURCE_EXHAUSTED when too many wait */
  async start(clientName: string, { address }: Origin): Promise<{
    readonly device: WaitingDevice;
    readonly deviceCode: string;
    readonly expiresAtMs: number;
  }> {
    const { random, queries } = this.options;
    const block = addressBlock(address);
    const deviceCode = alphanumeric(random, TOKEN_LENGTH);
    const name = shownName(clientName);
    // Who begins without end waits for no writer, and nobody for them.
    await this.#requireRoom(queries, block);
    return await queries.transaction().execute(async (transaction) => {
      const now = this.#now();
      await transaction.deleteFrom("device_sign_ins").where("expires_at", "<=", now).execute();
      const taken = await this.#requireRoom(transaction, block);
      const device = { userCode: userCode(random, taken), clientName: name, address };
      const expiresAtMs = now + DEVICE_MS;
      await transaction.insertInto("device_sign_ins").values({
        ...{ device_hash: hashOf(deviceCode), user_code: device.userCode, client_name: name },
        ...{ address, block, expires_at: expiresAtMs },
        ...{ decision: null, user_id: null, session_id: null },
      }).execute();
      return { device, deviceCode, expiresAtMs };
    });
  }

  /** The codes that are taken. */
  async #requireRoom(queries: Queries, block: string): Promise<ReadonlySet<string>> {
    const rows = await queries.selectFrom("device_sign_ins").select(["user_code", "block"])
      .where("expires_at", ">", this.#now()).execute();
    const own = rows.filter((row) => row.block === block);
    if (own.length < MOST_DEVICES_OF_ONE && rows.length < MOST_DEVICES) {
      return new Set(rows.map((row) => row.user_code));
    }
    throw new ConnectError(
      "too many programs wait for approval; try again in ten minutes",
      Code.ResourceExhausted,
    );
  }

  /**
   * The program that shows a code; guesses are counted by the address of the browser.
   *
   * @throws {ConnectError} NOT_FOUND, RESOURCE_EXHAUSTED
   */
  async waiting(code: string, origin: Origin): Promise<WaitingDevice> {
    const { queries } = this.options;
    const row = await this.#limited(
      origin,
      () =>
        queries.selectFrom("device_sign_ins").select(["user_code", "client_name", "address"])
          .where("user_code", "=", typedCode(code)).where("decision", "is", null)
          .where("expires_at", ">", this.#now()).executeTakeFirst(),
    );
    if (!row) throw overCode();
    return { userCode: row.user_code, clientName: row.client_name, address: row.address };
  }

  /** @throws {ConnectError} NOT_FOUND, RESOURCE_EXHAUSTED */
  async decide(code: string, decision: Approver | "refused", origin: Origin): Promise<void> {
    const { queries } = this.options;
    const set = decision === "refused"
      ? { decision }
      : { decision: "allowed", user_id: decision.userId, session_id: decision.sessionId } as const;
    const isDecided = await this.#limited(origin, async () => {
      const { numUpdatedRows } = await queries.updateTable("device_sign_ins").set(set)
        .where("user_code", "=", typedCode(code)).where("decision", "is", null)
        .where("expires_at", ">", this.#now()).executeTakeFirst();
      return numUpdatedRows > 0n || undefined;
    });
    if (!isDecided) throw overCode();
  }

  /**
   * The session of a program that somebody has let in, once; undefined: nobody has decided yet.
   *
   * @throws {ConnectError} NOT_FOUND, PERMISSION_DENIED, RESOURCE_EXHAUSTED
   */
  async finish(
    deviceCode: string,
    origin: Origin,
  ): Promise<{ session: Started; user: UserRow } | undefined> {
    const { queries } = this.options;
    const hash = hashOf(deviceCode);
    const device = await this.#limited(
      origin,
      () =>
        queries.selectFrom("device_sign_ins").selectAll().where("device_hash", "=", hash)
          .where("expires_at", ">", this.#now()).executeTakeFirst(),
    );
    if (!device) throw overCode();
    this.#requirePace(hash);
    if (device.decision === null) return undefined;
    this.#asked.delete(hash);
    const { numDeletedRows } = await queries.deleteFrom("device_sign_ins")
      .where("device_hash", "=", hash).executeTakeFirst();
    if (numDeletedRows === 0n) throw overCode(); // another node was faster
    if (device.user_id === null || device.session_id === null) {
      throw new ConnectError("the person at the browser refused", Code.PermissionDenied);
    }
    const approver = { userId: device.user_id, sessionId: device.session_id };
    return await this.#begin(approver, origin);
  }

  /** Of this node alone: a program that asks all nodes is answered by each in its turn. */
  #requirePace(hash: string): void {
    const now = this.options.clock.monotonicMs();
    // Clocks and networks are not exact: half the interval passes.
    if (now - (this.#asked.get(hash) ?? -Infinity) < INTERVAL_S * 500) {
      throw new ConnectError(`poll once in ${INTERVAL_S} seconds`, Code.ResourceExhausted);
    }
    this.#asked.delete(hash);
    this.#asked.set(hash, now);
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > MOST_DEVICES && oldest !== undefined) this.#asked.delete(oldest);
  }

  /** A session that lasts no longer than a single sign-on does which stands behind it. */
  async #begin(approver: Approver, origin: Origin): Promise<{ session: Started; user: UserRow }> {
    const { queries, sessions, signIn } = this.options;
    const { userId, sessionId } = approver;
    const behind: SessionRow | undefined = (await sessions.list(userId))
      .find(({ id }) => id === sessionId);
    if (!behind) {
      throw new ConnectError(
        "the session in the browser has expired meanwhile",
        Code.Unauthenticated,
      );
    }
    const user = await queries.selectFrom("users").selectAll().where("id", "=", userId)
      .executeTakeFirstOrThrow();
    const isOwn = behind.method === "password" || behind.method === "link";
    const most = isOwn ? undefined : behind.expires_at;
    return { session: await signIn.begin(user, "command line", origin, most), user };
  }

  async #limited<T>(
    { address }: Origin,
    look: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const outcome = await this.options.limiter.attempt({ address }, look);
    if (outcome.kind === "refused") {
      throw refusal("TOO_MANY_ATTEMPTS", {}, TOO_MANY_ATTEMPTS, Code.ResourceExhausted);
    }
    return outcome.kind === "right" ? outcome.value : undefined;
  }

  #now(): number {
    return this.options.clock.now().getTime();
  }
}

/** What an unknown program calls itself, without characters that hide or turn text. */
function shownName(name: string): string {
  return name.replace(/[\p{C}\p{Z}]+/gu, " ").trim().slice(0, LONGEST_NAME) || "a program";
}

function hashOf(token: string): string {
  return createHash("sha256").update(`program\0${token}`).digest("base64url");
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [one, other].map((text) => new TextEncoder().encode(text));
  return a !== undefined && b !== undefined && a.length === b.length && timingSafeEqual(a, b);
}

/** As it is shown, however it was typed. */
function typedCode(code: string): string {
  return code.slice(0, 100).toUpperCase().replace(/[^A-Z]/g, "").replace(/^.{4}(?=.)/, "$&-");
}

function overCode(): ConnectError {
  return refusal(
    "CODE_WRONG",
    {},
    "there is no such code; it was used, or is older than ten minutes",
    Code.NotFound,
  );
}
