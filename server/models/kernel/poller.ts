/** Waits for all files of a process at once, in one thread. */
import type { Kernel } from "./kernel.ts";

/** A wait ends after this at the latest, and begins again. Milliseconds. */
const LONGEST_MS = 60_000;

/** Calls back when files can be read. Costs nothing while none is watched. */
export class Poller {
  readonly #watched = new Map<number, () => void>();
  #wake: number | undefined;
  #running: Promise<void> | undefined;
  #turn = Promise.withResolvers<void>();

  constructor(private readonly kernel: Kernel) {}

  /**
   * Calls `readable` each time the file can be read, or is broken, until {@link unwatch}. It must
   * read what is there.
   */
  watch(fd: number, readable: () => void): void {
    this.#watched.set(fd, readable);
    this.#interrupt();
    this.#start();
  }

  /** Resolves when nobody waits for the file any more, so that it can be closed. */
  async unwatch(fd: number): Promise<void> {
    if (!this.#watched.delete(fd)) return;
    const { promise } = this.#turn;
    this.#interrupt();
    await promise;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#watched.size > 0) this.#start();
    });
  }

  #interrupt(): void {
    if (this.#wake === undefined) return;
    const one = new Uint8Array(8);
    one[0] = 1;
    this.kernel.write(this.#wake, one);
  }

  async #run(): Promise<void> {
    const wake = this.#wake = this.kernel.eventfd();
    const drained = new Uint8Array(8);
    while (this.#watched.size > 0) {
      const ready = await this.kernel.poll([wake, ...this.#watched.keys()], LONGEST_MS);
      this.#turn.resolve();
      this.#turn = Promise.withResolvers();
      for (const fd of ready) {
        if (fd === wake) this.kernel.read(wake, drained);
        else this.#watched.get(fd)?.();
      }
    }
    this.#wake = undefined;
    this.kernel.close(wake);
    this.#turn.resolve();
    this.#turn = Promise.withResolvers();
  }
}
