import { Code, ConnectError } from "@connectrpc/connect";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import type { RequestAccount } from "../server/request_account.ts";

/** Two messages of the largest size, or many smaller ones. */
const MOST_HELD_BYTES = 2 * MAX_MESSAGE_BYTES;

/**
 * What all calls of one channel hold of messages that have come in part, or that nobody has read.
 * The protocol has no flow control of its own: a peer could fill the memory otherwise.
 */
export class HeldBytes {
  #held = 0;

  /**
   * @param limit in bytes; default 64 MiB.
   * @param account what all channels may hold together; default: nothing is counted there.
   */
  constructor(
    private readonly limit = MOST_HELD_BYTES,
    private readonly account?: RequestAccount,
  ) {}

  /** @throws {ConnectError} RESOURCE_EXHAUSTED when that is more than the limit. */
  take(bytes: number): void {
    if (this.#held + bytes > this.limit) {
      throw new ConnectError(
        `the calls of this connection sent more than ${this.limit} bytes ahead of their readers`,
        Code.ResourceExhausted,
      );
    }
    this.account?.take(bytes);
    this.#held += bytes;
  }

  give(bytes: number): void {
    this.#held -= bytes;
    this.account?.give(bytes);
  }
}
