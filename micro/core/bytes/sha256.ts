/** First 32 bits of the fractions of powers of the first primes (FIPS 180-4, 4.2.2 and 5.3.3). */
function fractions(root: 2 | 3, count: number): Int32Array {
  const found = new Int32Array(count);
  for (let n = 2, i = 0; i < count; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) prime = false;
    if (prime) found[i++] = (n ** (1 / root) % 1) * 0x100000000 | 0;
  }
  return found;
}

/** SHA-256 of what arrives in pieces: the host's takes everything at once. */
export class Sha256 {
  readonly #constants = fractions(3, 64);
  readonly #state = fractions(2, 8);
  readonly #words = new Int32Array(64);
  readonly #block = new Uint8Array(64);
  #kept = 0;
  #length = 0;

  update(bytes: Uint8Array): void {
    this.#length += bytes.length;
    for (let at = 0; at < bytes.length;) {
      const take = Math.min(64 - this.#kept, bytes.length - at);
      this.#block.set(bytes.subarray(at, at + take), this.#kept);
      this.#kept += take;
      at += take;
      if (this.#kept === 64) this.#compress();
    }
  }

  /** The 32 bytes; nothing may be added afterwards. */
  digest(): Uint8Array {
    const bits = this.#length * 8;
    const padding = new Uint8Array((this.#kept < 56 ? 64 : 128) - this.#kept);
    padding[0] = 0x80;
    const view = new DataView(padding.buffer);
    view.setUint32(padding.length - 8, Math.floor(bits / 0x100000000));
    view.setUint32(padding.length - 4, bits >>> 0);
    this.update(padding);
    const out = new DataView(new ArrayBuffer(32));
    this.#state.forEach((word, i) => out.setInt32(4 * i, word));
    return new Uint8Array(out.buffer);
  }

  #compress(): void {
    const [words, constants, state] = [this.#words, this.#constants, this.#state];
    const view = new DataView(this.#block.buffer);
    this.#kept = 0;
    const turn = (x: number, n: number) => x >>> n | x << 32 - n;
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(4 * i);
    for (let i = 16; i < 64; i++) {
      const [x, y] = [words[i - 15] ?? 0, words[i - 2] ?? 0];
      const s0 = turn(x, 7) ^ turn(x, 18) ^ x >>> 3;
      const s1 = turn(y, 17) ^ turn(y, 19) ^ y >>> 10;
      words[i] = (words[i - 16] ?? 0) + s0 + (words[i - 7] ?? 0) + s1 | 0;
    }
    let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
    for (let i = 0; i < 64; i++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
      const t1 = h + s1 + (e & f ^ ~e & g) + (constants[i] ?? 0) + (words[i] ?? 0) | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
      const t2 = s0 + (a & b ^ a & c ^ b & c) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, d + t1 | 0, c, b, a, t1 + t2 | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => state[i] = (state[i] ?? 0) + word | 0);
  }
}
