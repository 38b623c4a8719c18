/** One download that is under way. */
export interface DownloadSlot {
  /** It has ended; more than once is the same as once. */
  release(): void;
}

/** How many downloads may be under way at the same time. */
export interface DownloadLimits {
  /** From one address; a whole site may be behind one. Default 32. */
  readonly perAddress: number;
  /** Each holds a file and a connection open. Default 256. */
  readonly total: number;
}

/** Bounds downloads that need no key, so that nobody takes all of the cloud with them. */
export class DownloadSlots {
  readonly #byAddress = new Map<string, number>();
  #total = 0;

  constructor(private readonly limits: DownloadLimits = { perAddress: 32, total: 256 }) {}

  /** Undefined: there are too many. */
  take(address: string): DownloadSlot | undefined {
    const own = this.#byAddress.get(address) ?? 0;
    if (own >= this.limits.perAddress || this.#total >= this.limits.total) return undefined;
    this.#byAddress.set(address, own + 1);
    this.#total++;
    let ended = false;
    return {
      release: () => {
        if (ended) return;
        ended = true;
        this.#total--;
        const left = (this.#byAddress.get(address) ?? 1) - 1;
        if (left > 0) this.#byAddress.set(address, left);
        else this.#byAddress.delete(address);
      },
    };
  }
}
