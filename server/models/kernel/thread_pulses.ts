import { Code, ConnectError } from "@connectrpc/connect";
import type { LinePulses } from "./kernel.ts";
import { pulseLoop, threadHands } from "./pulse_loop.ts";

/** Lines that can be pulsed at the same time. */
const MOST_LINES = 32;
/** All lines go low when the server's own thread was not alive for so long. Microseconds. */
const LONGEST_SILENCE_US = 2_000_000;
/** Milliseconds from one sign of life to the next. */
const ALIVE_MS = 250;

/**
 * Software PWM on a thread of its own, which no call of the server holds up. When the server's
 * thread hangs for two seconds, the lines go low: a motor must not run on then.
 */
export class ThreadPulses implements LinePulses {
  readonly #memory = new Int32Array(new SharedArrayBuffer(4 * (8 + 4 * MOST_LINES)));
  #worker: Worker | undefined;
  #alive: ReturnType<typeof setInterval> | undefined;

  pulse(fd: number, periodUs: number, highUs: number): void {
    const at = this.#place(fd) ?? this.#place(0);
    if (at === undefined) {
      throw new ConnectError(
        `software PWM does ${MOST_LINES} pins at the same time, and all are taken; stop one first`,
        Code.ResourceExhausted,
      );
    }
    this.#start();
    const isNew = Atomics.load(this.#memory, at) !== fd;
    Atomics.store(this.#memory, at + 1, Math.round(periodUs));
    Atomics.store(this.#memory, at + 2, Math.round(highUs));
    if (isNew) Atomics.store(this.#memory, at + 3, -1);
    Atomics.store(this.#memory, at, fd);
    this.#order();
  }

  async end(fd: number): Promise<void> {
    const at = this.#place(fd);
    if (at === undefined || fd === 0) return;
    Atomics.store(this.#memory, at, 0);
    await this.#seen();
  }

  async close(): Promise<void> {
    clearInterval(this.#alive);
    if (!this.#worker) return;
    Atomics.store(this.#memory, 2, 1);
    await this.#seen();
    this.#worker.terminate();
    this.#worker = undefined;
  }

  /** Lines that could not be set so far. */
  get failures(): number {
    return Atomics.load(this.#memory, 4);
  }

  #place(fd: number): number | undefined {
    for (let at = 8; at < this.#memory.length; at += 4) {
      if (Atomics.load(this.#memory, at) === fd) return at;
    }
    return undefined;
  }

  #order(): void {
    Atomics.add(this.#memory, 0, 1);
    Atomics.notify(this.#memory, 0);
  }

  /** Resolves when the thread has acted on all orders. */
  async #seen(): Promise<void> {
    this.#order();
    if (!this.#worker) return;
    const order = Atomics.load(this.#memory, 0);
    const deadlineMs = performance.now() + 2_000;
    for (;;) {
      const seen = Atomics.load(this.#memory, 1);
      if (seen - order >= 0 || performance.now() > deadlineMs) return;
      await Atomics.waitAsync(this.#memory, 1, seen, 50).value;
    }
  }

  #start(): void {
    if (this.#worker) return;
    const source = `const pulseLoop = ${pulseLoop};\nconst threadHands = ${threadHands};
self.onmessage = ({ data }) => {
  const hands = threadHands(data);
  pulseLoop(data, hands, ${LONGEST_SILENCE_US});
  hands.close();
};`;
    const url = `data:application/javascript,${encodeURIComponent(source)}`;
    this.#worker = new Worker(url, { type: "module", name: "software PWM" });
    this.#worker.postMessage(this.#memory);
    this.#alive = setInterval(() => Atomics.add(this.#memory, 3, 1), ALIVE_MS);
    Deno.unrefTimer(this.#alive);
  }
}
