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

/** Answers the questions by which an ACME server learns that a name leads here (HTTP-01). */
export class HttpChallenges {
  readonly #answers = new Map<string, string>();
  #server: PlainHttp | undefined;

  constructor(
    private readonly log: Logger,
    /** What strangers can hold open. */
    private readonly limits: Partial<ConnectionLimits> = {},
  ) {}

  set(token: string, answer: string): void {
    this.#answers.set(token, answer);
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
      onError: (error) => log.error("a request failed", { error }),
    });
    return this.#server.address;
  }

  answer(path: string): Response {
    const answer = path.startsWith(PREFIX)
      ? this.#answers.get(path.slice(PREFIX.length))
      : undefined;
    if (answer !== undefined) return new Response(answer);
    return new Response("this port answers an ACME server only; use https\n", { status: 404 });
  }

  async close(): Promise<void> {
    await this.#server?.close();
    this.#server = undefined;
  }
}
