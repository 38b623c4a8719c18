import { createPublicKey } from "node:crypto";
import { calculateJwkThumbprint, type JWK } from "jose";
import {
  type ConnectionLimits,
  DEFAULT_CONNECTION_LIMITS,
} from "../../../shared/rpc/server/connection_limits.ts";
import { PlainHttp } from "../../../shared/rpc/server/plain_http.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ListenAddress } from "../../api/addresses/addresses.ts";

const PREFIX = "/.well-known/acme-challenge/";
/** ACME servers ask a few times, from several places; each connection takes three descriptors. */
const LIMITS: ConnectionLimits = {
  ...DEFAULT_CONNECTION_LIMITS,
  total: 3_000,
  perAddress: 60,
  idleMs: 10_000,
};

const ASK_EVERY_MS = 1_000;

/** Answers the questions by which an ACME server learns that a name leads here (HTTP-01). */
export class HttpChallenges {
  readonly #answers = new Map<string, string>();
  #server: PlainHttp | undefined;
  #account: (() => Promise<string | undefined>) | undefined;
  #thumbprint: Promise<string | undefined> | undefined;
  #askedMs = -Infinity;

  constructor(
    private readonly log: Logger,
    /** What strangers can hold open. */
    private readonly limits: Partial<ConnectionLimits> = {},
  ) {}

  set(token: string, answer: string): void {
    this.#answers.set(token, answer);
  }

  /**
   * Answers for other nodes as well, whichever of them ordered: an answer is made of the question and
   * of the account that all of them have.
   *
   * @param account its key, PEM; undefined: there is none yet
   */
  answerFor(account: () => Promise<string | undefined>): void {
    this.#account = account;
  }

  remove(token: string): void {
    this.#answers.delete(token);
  }

  /** @throws when the port is taken or needs rights that the program has not. */
  async listen(listen: ListenAddress): Promise<{ readonly port: number }> {
    const { log } = this;
    this.#server = await PlainHttp.listen({
      listen,
      limits: { ...LIMITS, ...this.limits },
      answer: ({ url }) => this.answer(new URL(url).pathname),
      onRefused: (from, reason) => log.debug("refused a connection", { from, reason }),
      onError: (error) => log.error("a request failed", { event: "call_failed", error }),
    });
    return this.#server.address;
  }

  async answer(path: string): Promise<Response> {
    const token = path.startsWith(PREFIX) ? path.slice(PREFIX.length) : "";
    const answer = this.#answers.get(token) ?? await this.#answerOfOthers(token);
    if (answer !== undefined) return new Response(answer);
    return new Response("this port answers an ACME server only; use https\n", { status: 404 });
  }

  async #answerOfOthers(token: string): Promise<string | undefined> {
    if (!this.#account || !/^[\w-]{16,200}$/.test(token)) return undefined;
    const isKnown = await this.#thumbprint !== undefined;
    // Strangers ask as often as they like.
    if (!isKnown && performance.now() - this.#askedMs >= ASK_EVERY_MS) {
      this.#askedMs = performance.now();
      this.#thumbprint = this.#account().then(thumbprintOf).catch(() => undefined);
    }
    const thumbprint = await this.#thumbprint;
    return thumbprint && `${token}.${thumbprint}`;
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }
}

/** RFC 7638, as ACME has it in its answers. */
async function thumbprintOf(accountKey: string | undefined): Promise<string | undefined> {
  if (accountKey === undefined) return undefined;
  const key = createPublicKey(accountKey).export({ format: "jwk" });
  return await calculateJwkThumbprint(key as JWK);
}
