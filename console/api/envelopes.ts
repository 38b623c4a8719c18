/** The frames of a stream in Connect: flags, length, message. */
const HEADER = 5;

/** Cuts a stream of bytes between its messages. */
export class Envelopes {
  #rest: Uint8Array<ArrayBuffer> = new Uint8Array();

  /** @returns the whole messages that are there now, each with its header. */
  take(bytes: Uint8Array): Uint8Array<ArrayBuffer>[] {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const view = new DataView(all.buffer);
    const whole: Uint8Array<ArrayBuffer>[] = [];
    let at = 0;
    while (at + HEADER <= all.length) {
      const end = at + HEADER + view.getUint32(at + 1);
      if (end > all.length) break;
      whole.push(all.slice(at, end));
      at = end;
    }
    this.#rest = all.slice(at);
    return whole;
  }
}
