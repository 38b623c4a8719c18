/** Bounds on what strangers can hold open. */
export interface ConnectionLimits {
  /** Open connections in all; default 20,000. */
  readonly total: number;
  /** Open connections from one address; default 1,000. Callers on this host are not counted. */
  readonly perAddress: number;
  /** How long a connection may take to its first bytes, or through its TLS handshake; default 10 s. */
  readonly handshakeMs: number;
}

export const DEFAULT_CONNECTION_LIMITS: ConnectionLimits = {
  total: 20_000,
  perAddress: 1_000,
  handshakeMs: 10_000,
};

/** Counts open connections by address. */
export class ConnectionCounter {
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(private readonly limits: ConnectionLimits) {}

  get total(): number {
    return this.#total;
  }

  /** Takes a place, or says why there is none. The returned function gives the place back, once. */
  enter(address: string, local: boolean): { leave: () => void } | { refused: string } {
    if (this.#total >= this.limits.total) {
      return { refused: `${this.limits.total} connections are open` };
    }
    const open = this.#byAddress.get(address) ?? 0;
    if (!local && open >= this.limits.perAddress) {
      return { refused: `${this.limits.perAddress} connections are open from ${address}` };
    }
    this.#total++;
    this.#byAddress.set(address, open + 1);
    let left = false;
    return {
      leave: () => {
        if (left) return;
        left = true;
        this.#total--;
        const now = (this.#byAddress.get(address) ?? 1) - 1;
        if (now === 0) this.#byAddress.delete(address);
        else this.#byAddress.set(address, now);
      },
    };
  }
}
