/**
 * The bytes of a capture file: protobuf messages, each after its length as a varint. The first is
 * `DataCaptureMetadata`, all others are `SensorData`. Written by hand because a sensor may be read
 * a thousand times a second.
 */
import { type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import {
  type DataCaptureMetadata,
  DataCaptureMetadataSchema,
} from "../gen/viam/app/datasync/v1/data_sync_pb.ts";

/** One reading of a driver, as a capture file keeps it. */
export interface CapturedReading {
  /** When the driver was queried, milliseconds since 1970; fractions count. */
  readonly requestedMs: number;
  /** When it answered. */
  readonly receivedMs: number;
  /** A JSON object for tabular data, bytes for binary data. */
  readonly data: JsonObject | Uint8Array;
}

/** The beginning of a capture file. */
export function encodeMetadata(metadata: DataCaptureMetadata): Uint8Array<ArrayBuffer> {
  const message = toBinary(DataCaptureMetadataSchema, metadata);
  const buffer = new ReadingEncoder(message.length + MOST_VARINT_BYTES);
  buffer.frame(message);
  return buffer.take().slice();
}

const MOST_VARINT_BYTES = 10;
const utf8 = new TextEncoder();

/** Puts readings one after the other into a buffer that it keeps. */
export class ReadingEncoder {
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #at = 0;

  constructor(initialBytes = 4096) {
    this.#bytes = new Uint8Array(initialBytes);
    this.#view = new DataView(this.#bytes.buffer);
  }

  /** What was added since the last time; good until the next {@link add}. */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.#bytes.subarray(0, this.#at);
    this.#at = 0;
    return taken;
  }

  /** Adds one `SensorData` with its length. Numbers that JSON does not know become null. */
  add({ requestedMs, receivedMs, data }: CapturedReading): void {
    const before = this.#at;
    try {
      this.#reading(requestedMs, receivedMs, data);
    } catch (error) {
      this.#at = before;
      throw error;
    }
  }

  #reading(requestedMs: number, receivedMs: number, data: JsonObject | Uint8Array): void {
    const whole = this.#open();
    const metadata = this.#begin(0x0a);
    this.#timestamp(0x0a, requestedMs);
    this.#timestamp(0x12, receivedMs);
    this.#end(metadata);
    if (data instanceof Uint8Array) {
      this.#ensure(data.length + 1 + MOST_VARINT_BYTES);
      this.#bytes[this.#at++] = 0x1a;
      this.#varint(data.length);
      this.#bytes.set(data, this.#at);
      this.#at += data.length;
    } else {
      const struct = this.#begin(0x12);
      this.#struct(data);
      this.#end(struct);
    }
    this.#end(whole);
  }

  /** Adds a message with its length. */
  frame(message: Uint8Array): void {
    this.#ensure(message.length + MOST_VARINT_BYTES);
    this.#varint(message.length);
    this.#bytes.set(message, this.#at);
    this.#at += message.length;
  }

  #timestamp(tag: number, ms: number): void {
    const at = this.#begin(tag);
    const seconds = Math.floor(ms / 1_000);
    const nanos = Math.floor((ms - seconds * 1_000) * 1_000) * 1_000;
    if (seconds > 0) {
      this.#bytes[this.#at++] = 0x08;
      this.#varint(seconds);
    }
    if (nanos > 0) {
      this.#bytes[this.#at++] = 0x10;
      this.#varint(nanos);
    }
    this.#end(at);
  }

  #struct(fields: JsonObject): void {
    for (const key in fields) {
      const entry = this.#begin(0x0a);
      this.#text(0x0a, key);
      const value = this.#begin(0x12);
      this.#value(fields[key]);
      this.#end(value);
      this.#end(entry);
    }
  }

  #value(value: JsonValue | undefined): void {
    this.#ensure(16);
    switch (typeof value) {
      case "number":
        if (!Number.isFinite(value)) return this.#null();
        this.#bytes[this.#at] = 0x11;
        this.#view.setFloat64(this.#at + 1, value, true);
        this.#at += 9;
        return;
      case "string":
        return this.#text(0x1a, value);
      case "boolean":
        this.#bytes[this.#at++] = 0x20;
        this.#bytes[this.#at++] = value ? 1 : 0;
        return;
      case "object":
        if (value !== null) return this.#collection(value);
    }
    // Drivers are typed, but a value that JSON leaves out must not end the capture.
    this.#null();
  }

  #null(): void {
    this.#bytes[this.#at++] = 0x08;
    this.#bytes[this.#at++] = 0;
  }

  #collection(value: JsonObject | JsonValue[]): void {
    if (!Array.isArray(value)) {
      const struct = this.#begin(0x2a);
      this.#struct(value);
      return this.#end(struct);
    }
    const list = this.#begin(0x32);
    for (const item of value) {
      const at = this.#begin(0x0a);
      this.#value(item);
      this.#end(at);
    }
    this.#end(list);
  }

  #text(tag: number, text: string): void {
    this.#ensure(text.length * 3 + 1 + MOST_VARINT_BYTES);
    const at = this.#begin(tag);
    this.#at += utf8.encodeInto(text, this.#bytes.subarray(this.#at)).written;
    this.#end(at);
  }

  /** Begins a message in a field; its length takes one byte until it turns out to be longer. */
  #begin(tag: number): number {
    this.#ensure(32);
    this.#bytes[this.#at++] = tag;
    return this.#at++;
  }

  #open(): number {
    this.#ensure(32);
    return this.#at++;
  }

  #end(at: number): void {
    const length = this.#at - at - 1;
    if (length < 0x80) {
      this.#bytes[at] = length;
      return;
    }
    const more = varintBytes(length) - 1;
    this.#ensure(more);
    this.#bytes.copyWithin(at + 1 + more, at + 1, this.#at);
    const end = this.#at + more;
    this.#at = at;
    this.#varint(length);
    this.#at = end;
  }

  #varint(value: number): void {
    while (value >= 0x80) {
      this.#bytes[this.#at++] = (value % 0x80) | 0x80;
      value = Math.floor(value / 0x80);
    }
    this.#bytes[this.#at++] = value;
  }

  #ensure(more: number): void {
    if (this.#at + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#at + more));
    grown.set(this.#bytes.subarray(0, this.#at));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes++;
  return bytes;
}
