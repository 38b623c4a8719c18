import { utf8 } from "../bytes/utf8.ts";

/** The bytes are not a message. */
export class WireError extends Error {}

/** Writes the parts of a protobuf message. */
export class Writer {
  #bytes = new Uint8Array(64);
  #view = new DataView(this.#bytes.buffer);
  #length = 0;

  /** What was written; the writer is used up. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #room(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + size));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
    this.#view = new DataView(larger.buffer);
  }

  /** An integer from -2^63 to 2^64; negative ones as two's complement of 64 bits. */
  varint(value: number): void {
    this.#room(10);
    if (value >= 0 && value < 0x80) {
      this.#bytes[this.#length++] = value;
      return;
    }
    let [high, low] = halves(value);
    for (;;) {
      const next = low & 0x7f;
      low = (low >>> 7 | high << 25) >>> 0;
      high >>>= 7;
      if (high === 0 && low === 0) {
        this.#bytes[this.#length++] = next;
        return;
      }
      this.#bytes[this.#length++] = next | 0x80;
    }
  }

  tag(number: number, wireType: number): void {
    this.varint(number << 3 | wireType);
  }

  raw(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  text(value: string): void {
    this.raw(utf8(value));
  }

  double(value: number): void {
    this.#room(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  float(value: number): void {
    this.#room(4);
    this.#view.setFloat32(this.#length, value, true);
    this.#length += 4;
  }
}

function halves(value: number): [number, number] {
  const whole = Math.trunc(value);
  const high = Math.floor(whole / 0x100000000);
  return [high >>> 0, (whole - high * 0x100000000) >>> 0];
}

/** Reads the parts of a protobuf message. Each call throws {@link WireError} at its end. */
export class Reader {
  #at = 0;
  readonly #view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.#at >= this.bytes.length;
  }

  /** The two halves of a variable-length integer: high and low, without sign. */
  #pair(): [number, number] {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.bytes[this.#at++];
      if (byte === undefined) throw new WireError("the message ends inside a number");
      const part = byte & 0x7f;
      if (shift < 28) low |= part << shift;
      else if (shift === 28) low |= part << 28, high |= part >> 4;
      else if (shift < 64) high |= part << shift - 32;
      if (byte < 0x80) return [high >>> 0, low >>> 0];
    }
    throw new WireError("a number has more than ten bytes");
  }

  uint64(): number {
    const [high, low] = this.#pair();
    return high * 0x100000000 + low;
  }

  int64(): number {
    const [high, low] = this.#pair();
    return (high | 0) * 0x100000000 + low;
  }

  uint32(): number {
    return this.#pair()[1];
  }

  raw(): Uint8Array {
    const length = this.uint32();
    if (length > this.bytes.length - this.#at) throw new WireError("the message is cut off");
    return this.bytes.subarray(this.#at, this.#at += length);
  }

  double(): number {
    this.#need(8);
    return this.#view.getFloat64((this.#at += 8) - 8, true);
  }

  float(): number {
    this.#need(4);
    return this.#view.getFloat32((this.#at += 4) - 4, true);
  }

  skip(wireType: number): void {
    if (wireType === 0) this.#pair();
    else if (wireType === 1) this.#need(8), this.#at += 8;
    else if (wireType === 2) this.raw();
    else if (wireType === 5) this.#need(4), this.#at += 4;
    else throw new WireError(`wire type ${wireType} is not known`);
  }

  #need(size: number): void {
    if (size > this.bytes.length - this.#at) throw new WireError("the message is cut off");
  }
}
