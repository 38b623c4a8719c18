import { createHash, timingSafeEqual } from "node:crypto";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AttemptLimiter,
  TOO_MANY_ATTEMPTS,
} from "../../../shared/cloud/auth/attempt_limiter.ts";
import { addressBlock } from "../../../shared/rpc/address_block.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { alphanumeric, type Random } from "../../storage/keys/random.ts";
import type { UserRow } from "../people/users.ts";
import type { Origin, SessionRow, Sessions, Started } from "../sessions/sessions.ts";
import { userCode } from "./user_code.ts";

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

interface Device extends WaitingDevice {
  readonly deviceHash: string;
  readonly until: number;
  decision: Approver | "refused" | undefined;
  asked: number;
}

interface Grant {
  readonly approver: Approver;
  readonly challenge: string;
  readonly redirectUri: string;
  readonly until: number;
}

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
const MOST_GRANTS = 1_000;
const TOKEN_LENGTH = 40;
const LONGEST_NAME = 80;

/**
 * Sessions for programs on people's computers, which a person who is signed in with a browser lets
 * in: by a code that the browser brings to the program (RFC 8252 with PKCE), or by a short code that
 * the person types (RFC 8628). What waits is in memory: it is over in minutes.
 */
export class ProgramSignIn {
  readonly #grants = new Map<string, Grant>();
  readonly #devices = new Map<string, Device>();

  constructor(private readonly options: ProgramSignInOptions) {}

  /**
   * A code for the program at a redirect URI.
   *
   * @param challenge SHA-256 of what only the program knows, base64url
   */
  grant(approver: Approver, { challenge, redirectUri }: Pick<Grant, "challenge" | "redirectUri">) {
    const code = alphanumeric(this.options.random, TOKEN_LENGTH);
    const until = this.#now() + CODE_MS;
    this.#grants.set(hashOf(code), { approver, challenge, redirectUri, until });
    dropOldest(this.#grants, MOST_GRANTS);
    return code;
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
    const grant = await this.#limited(origin, () => {
      const hash = hashOf(code);
      const grant = this.#grants.get(hash);
      // Whoever has the code and not the verifier uses it up: it was stolen.
      this.#grants.delete(hash);
      const challenge = createHash("sha256").update(verifier).digest("base64url");
      const isRight = grant && grant.until > this.#now() && grant.redirectUri === redirectUri &&
        isEqual(challenge, grant.challenge);
      return isRight ? grant : undefined;
    });
    if (!grant) {
      throw new ConnectError("this code counts no more; begin again", Code.Unauthenticated);
    }
    return await this.#begin(grant.approver, origin);
  }

  /** @throws {ConnectError} RESOURCE_EXHAUSTED when too many wait */
  start(clientName: string, { address }: Origin): {
    readonly device: WaitingDevice;
    readonly deviceCode: string;
    readonly expiresAtMs: number;
  } {
    const { random, clock } = this.options;
    const now = this.#now();
    for (const [hash, { until }] of this.#devices) if (until <= now) this.#devices.delete(hash);
    const block = addressBlock(address);
    const own = [...this.#devices.values()].filter((each) => addressBlock(each.address) === block);
    if (own.length >= MOST_DEVICES_OF_ONE || this.#devices.size >= MOST_DEVICES) {
      throw new ConnectError(
        "too many programs wait for approval; try again in ten minutes",
        Code.ResourceExhausted,
      );
    }
    const deviceCode = alphanumeric(random, TOKEN_LENGTH);
    const device: Device = {
      userCode: userCode(random, new Set([...this.#devices.values()].map((each) => each.userCode))),
      clientName: shownName(clientName),
      address,
      deviceHash: hashOf(deviceCode),
      until: now + DEVICE_MS,
      decision: undefined,
      asked: Number.NEGATIVE_INFINITY,
    };
    this.#devices.set(device.deviceHash, device);
    return { device, deviceCode, expiresAtMs: clock.now().getTime() + DEVICE_MS };
  }

  /**
   * The program that shows a code; guesses are counted by the address of the browser.
   *
   * @throws {ConnectError} NOT_FOUND, RESOURCE_EXHAUSTED
   */
  async waiting(code: string, origin: Origin): Promise<WaitingDevice> {
    return await this.#device(code, origin);
  }

  /** @throws {ConnectError} NOT_FOUND, RESOURCE_EXHAUSTED */
  async decide(code: string, decision: Approver | "refused", origin: Origin): Promise<void> {
    (await this.#device(code, origin)).decision = decision;
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
    const device = await this.#limited(origin, () => {
      const found = this.#devices.get(hashOf(deviceCode));
      return found && found.until > this.#now() ? found : undefined;
    });
    if (!device) throw overCode();
    const now = this.#now();
    // Clocks and networks are not exact: half the interval passes.
    if (now - device.asked < INTERVAL_S * 500) {
      throw new ConnectError(`poll once in ${INTERVAL_S} seconds`, Code.ResourceExhausted);
    }
    device.asked = now;
    if (device.decision === undefined) return undefined;
    this.#devices.delete(device.deviceHash);
    if (device.decision === "refused") {
      throw new ConnectError("the person at the browser refused", Code.PermissionDenied);
    }
    return await this.#begin(device.decision, origin);
  }

  async #device(code: string, origin: Origin): Promise<Device> {
    const wanted = code.toUpperCase().replace(/[^A-Z]/g, "");
    const device = await this.#limited(
      origin,
      () =>
        [...this.#devices.values()].find((each) =>
          each.userCode.replace("-", "") === wanted && each.until > this.#now() &&
          each.decision === undefined
        ),
    );
    if (device) return device;
    throw overCode();
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

  async #limited<T>({ address }: Origin, look: () => T | undefined): Promise<T | undefined> {
    const outcome = await this.options.limiter.attempt(
      { address },
      () => Promise.resolve(look()),
    );
    if (outcome.kind === "refused") {
      throw new ConnectError(TOO_MANY_ATTEMPTS, Code.ResourceExhausted);
    }
    return outcome.kind === "right" ? outcome.value : undefined;
  }

  #now(): number {
    return this.options.clock.monotonicMs();
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

function dropOldest<K, V>(map: Map<K, V>, most: number): void {
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

function overCode(): ConnectError {
  return new ConnectError(
    "there is no such code; it was used, or is older than ten minutes",
    Code.NotFound,
  );
}
