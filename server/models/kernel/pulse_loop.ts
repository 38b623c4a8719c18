/**
 * What the thread of software PWM does. These two functions travel to that thread as text: they use
 * nothing from outside themselves.
 */

/** What {@link pulseLoop} does to the world. */
export interface PulseHands {
  nowUs(): number;
  /** Waits until somebody calls for the loop, or so many microseconds. */
  wait(us: number): void;
  /** @returns false when the line cannot be set. */
  set(fd: number, high: boolean): boolean;
}

/**
 * Switches lines on and off until it is to end. The memory is shared with the server:
 *
 * | number | meaning |
 * | --- | --- |
 * | 0 | orders so far; the loop is called for when it changes |
 * | 1 | orders that the loop has seen |
 * | 2 | 1: end |
 * | 3 | counted up by the server while it is alive |
 * | 4 | lines that could not be set |
 * | 5 | 1: switched off, because the server did not count for too long |
 * | 8 + 4 × n … | of line n: its fd (0: none), period and time high in µs, level (-1: unknown) |
 */
export function pulseLoop(memory: Int32Array, hands: PulseHands, longestSilenceUs: number): void {
  const starts: number[] = [];
  const lines = (memory.length - 8) / 4;
  let alive = memory[3]!;
  let aliveUs = hands.nowUs();
  for (;;) {
    const order = Atomics.load(memory, 0);
    if (Atomics.load(memory, 2) === 1) break;
    const now = hands.nowUs();
    const count = Atomics.load(memory, 3);
    if (count !== alive) {
      alive = count;
      aliveUs = now;
      Atomics.store(memory, 5, 0);
    }
    const silent = now - aliveUs > longestSilenceUs;
    if (silent) Atomics.store(memory, 5, 1);
    let next = now + longestSilenceUs / 4;
    for (let line = 0; line < lines; line++) {
      const at = 8 + 4 * line;
      const fd = Atomics.load(memory, at);
      if (fd === 0) {
        delete starts[line];
        continue;
      }
      const period = Atomics.load(memory, at + 1);
      const highUs = Atomics.load(memory, at + 2);
      let start = starts[line] ?? now;
      // A thread that was held up does not catch up with the periods it missed.
      if (now >= start + period) start += Math.floor((now - start) / period) * period;
      starts[line] = start;
      const high = !silent && now < start + highUs;
      const level = high ? 1 : 0;
      if (level !== Atomics.load(memory, at + 3)) {
        if (hands.set(fd, high)) Atomics.store(memory, at + 3, level);
        else Atomics.add(memory, 4, 1);
      }
      if (!silent) next = Math.min(next, high ? start + highUs : start + period);
    }
    if (order !== Atomics.load(memory, 1)) {
      Atomics.store(memory, 1, order);
      Atomics.notify(memory, 1);
    }
    if (Atomics.load(memory, 0) === order) hands.wait(Math.max(0, next - hands.nowUs()));
  }
  Atomics.store(memory, 1, Atomics.load(memory, 0));
  Atomics.notify(memory, 1);
}

/** The {@link PulseHands} of a thread: the real lines, by the GPIO character device. */
export function threadHands(memory: Int32Array): PulseHands & { close(): void } {
  const library = Deno.dlopen("libc.so.6", {
    ioctl: { parameters: ["i32", "usize", "buffer"], result: "i32" },
  });
  // struct gpio_v2_line_values: bits, mask.
  const values = new BigUint64Array([0n, 1n]);
  const bytes = new Uint8Array(values.buffer);
  const setValues = 0xc010b40fn;
  return {
    nowUs: () => performance.now() * 1_000,
    wait(us) {
      Atomics.wait(memory, 0, Atomics.load(memory, 0), us / 1_000);
    },
    set(fd, high) {
      values[0] = high ? 1n : 0n;
      return library.symbols.ioctl(fd, setValues, bytes) === 0;
    },
    close: () => library.close(),
  };
}
