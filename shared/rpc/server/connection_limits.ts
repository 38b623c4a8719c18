import { addressBlock } from "./address_block.ts";

/** Bounds on what strangers can hold open. */
export interface ConnectionLimits {
  /** Descriptors of open connections in all; default 20,000. One over HTTP/1.1 takes three. */
  readonly total: number;
  /**
   * Descriptors of the connections from one address, or one IPv6 network of 64 bits; default 1,000.
   * Callers on this host are not counted.
   */
  readonly perAddress: number;
  /** How long a connection may take to its first bytes, or through its TLS handshake; default 10 s. */
  readonly handshakeMs: number;
  /** How long the headers of a request over HTTP/1.1 may take; default 10 s. */
  readonly headersMs: number;
  /** How long a connection over HTTP/1.1 may wait for its next request; default 2 minutes. */
  readonly idleMs: number;
}

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  total: 20_000,
  perAddress: 1_000,
  handshakeMs: 10_000,
  headersMs: 10_000,
  // Longer than the 90 s for which Go's clients keep connections: theirs are closed by them.
  idleMs: 120_000,
};

/** A connection that was let in. */
export interface ConnectionPlace {
  /** Takes more descriptors, or says why there are none. */
  widen(descriptors: number): { refused: string } | undefined;
  /** Gives all of them back. */
  leave(): void;
}

/** Counts descriptors of open connections by address. */
export class ConnectionCounter {
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(private readonly limits: Pick<ConnectionLimits, "total" | "perAddress">) {}

  get total(): number {
    return this.#total;
  }

  /** Takes a place of one descriptor, or says why there is none. */
  enter(address: string, local: boolean): ConnectionPlace | { refused: string } {
    const caller = { address, local, block: addressBlock(address) };
    let held = 1;
    const refused = this.#take(caller, held);
    if (refused) return refused;
    return {
      widen: (descriptors) => {
        const refused = held === 0 ? undefined : this.#take(caller, descriptors);
        if (!refused && held > 0) held += descriptors;
        return refused;
      },
      leave: () => {
        this.#total -= held;
        const now = (this.#byAddress.get(caller.block) ?? held) - held;
        if (now === 0) this.#byAddress.delete(caller.block);
        else this.#byAddress.set(caller.block, now);
        held = 0;
      },
    };
  }

  #take(
    { address, local, block }: { address: string; local: boolean; block: string },
    descriptors: number,
  ): { refused: string } | undefined {
    if (this.#total + descriptors > this.limits.total) {
      return { refused: `${this.limits.total} descriptors of connections are open` };
    }
    const open = (this.#byAddress.get(block) ?? 0) + descriptors;
    if (!local && open > this.limits.perAddress) {
      return {
        refused: `${this.limits.perAddress} descriptors of connections from ${address} are open`,
      };
    }
    this.#total += descriptors;
    this.#byAddress.set(block, open);
  }
}
