import { Buffer } from "node:buffer";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../shared/base/time/clock.ts";

const VALID_MS = 60 * 60_000;

/**
 * Tokens of forms: only who was shown the page can send it, so that no other page that a phone has
 * open can set the machine up. Without cookies, which the small browsers of phones drop. They hold
 * for an hour, for one address, and until the portal ends.
 */
export class PageTokens {
  readonly #key = randomBytes(32);

  constructor(private readonly clock: Pick<Clock, "monotonicMs">) {}

  /** @param address of who requests the page. */
  issue(address: string): string {
    const at = Math.floor(this.clock.monotonicMs());
    return `${at}.${this.#sign(at, address)}`;
  }

  isGood(token: string, address: string): boolean {
    const [at = "", signature = "", ...rest] = token.slice(0, 200).split(".");
    if (rest.length > 0 || !/^\d{1,15}$/.test(at)) return false;
    const expected = Buffer.from(this.#sign(Number(at), address));
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected) &&
      this.clock.monotonicMs() - Number(at) <= VALID_MS;
  }

  #sign(at: number, address: string): string {
    return createHmac("sha256", this.#key).update(`${at} ${address}`).digest("base64url");
  }
}
