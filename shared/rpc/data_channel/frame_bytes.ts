/**
 * Frames as bytes, for what nearly every call consists of: headers without metadata, a message in one
 * frame, and the end of a call that succeeded. Written and read without protobuf, which takes several
 * times as long; it reads all that is not understood here.
 */

/** A frame, as a channel takes it. */
export type Frame = Uint8Array<ArrayBuffer>;

/** Numbers of fields, with the kind of their values. */
const Tag = {
  stream: 0x0a,
  streamId: 0x08,
  headers: 0x12,
  message: 0x1a,
  trailers: 0x22,
  method: 0x0a,
  hasMessage: 0x08,
  requestPacket: 0x12,
  endOfStream: 0x18,
  responsePacket: 0x0a,
  data: 0x0a,
  endOfMessage: 0x10,
} as const;
/** `status`, which is empty: no error. */
const SUCCESS = [0x0a, 0] as const;
/** The methods read last: most calls are of a few, and putting letters together takes longest. */
const knownNames: string[] = [];
const MOST_NAMES = 8;
const LONGEST_KNOWN = 256;
let nextName = 0;
const MOST_SMALL = BigInt(Number.MAX_SAFE_INTEGER);

/** A piece of a message. */
export interface Piece {
  readonly data: Uint8Array;
  /** It is the last one of its message. */
  readonly eom: boolean;
}

/** The headers of a call without metadata and limit; undefined where protobuf has to write them. */
export function plainHeadersFrame(id: bigint, method: string): Frame | undefined {
  if (id > MOST_SMALL) return undefined;
  const length = 1 + varintBytes(method.length) + method.length;
  const { frame, at: from } = begin(id, Tag.headers, length);
  frame[from] = Tag.method;
  let at = putVarint(frame, from + 1, method.length);
  for (let index = 0; index < method.length; index++) {
    const letter = method.charCodeAt(index);
    if (letter > 0x7f) return undefined;
    frame[at++] = letter;
  }
  return frame;
}

/** A piece of a request; `eos`: the caller sends no further message. */
export function requestPieceFrame(id: bigint, piece: Piece, eos: boolean): Frame | undefined {
  if (id > MOST_SMALL) return undefined;
  const packet = packetBytes(piece);
  const length = 2 + 1 + varintBytes(packet) + packet + (eos ? 2 : 0);
  const { frame, at } = begin(id, Tag.message, length);
  frame[at] = Tag.hasMessage;
  frame[at + 1] = 1;
  frame[at + 2] = Tag.requestPacket;
  const end = putPacket(frame, at + 3, packet, piece);
  if (eos) {
    frame[end] = Tag.endOfStream;
    frame[end + 1] = 1;
  }
  return frame;
}

/** A piece of an answer. */
export function responsePieceFrame(id: bigint, piece: Piece): Frame | undefined {
  if (id > MOST_SMALL) return undefined;
  const packet = packetBytes(piece);
  const { frame, at } = begin(id, Tag.message, 1 + varintBytes(packet) + packet);
  frame[at] = Tag.responsePacket;
  putPacket(frame, at + 1, packet, piece);
  return frame;
}

/** The headers of an answer, without metadata. */
export function plainAnswerFrame(id: bigint): Frame | undefined {
  return id > MOST_SMALL ? undefined : begin(id, Tag.headers, 0).frame;
}

/** The end of a call that succeeded, without metadata. */
export function successFrame(id: bigint): Frame | undefined {
  if (id > MOST_SMALL) return undefined;
  const { frame, at } = begin(id, Tag.trailers, SUCCESS.length);
  frame.set(SUCCESS, at);
  return frame;
}

/** A frame that {@link readPlainRequest} understands. */
export type PlainRequest =
  | { readonly kind: "headers"; readonly id: bigint; readonly method: string }
  | ({ readonly kind: "message"; readonly id: bigint; readonly eos: boolean } & Piece);

/** A frame that {@link readPlainResponse} understands. */
export type PlainResponse =
  | { readonly kind: "headers" | "success"; readonly id: bigint }
  | ({ readonly kind: "message"; readonly id: bigint } & Piece);

/** A frame of the caller; undefined when it is another one than those of nearly every call. */
export function readPlainRequest(bytes: Uint8Array): PlainRequest | undefined {
  const reader = new Reader(bytes);
  const kind = reader.begin();
  const { id } = reader;
  if (kind === Tag.headers) {
    if (!reader.is(Tag.method)) return undefined;
    const method = reader.letters(reader.varint());
    return method !== undefined && reader.isDone ? { kind: "headers", id, method } : undefined;
  }
  if (kind !== Tag.message || !reader.is(Tag.hasMessage) || !reader.is(1)) return undefined;
  const piece = reader.is(Tag.requestPacket) ? reader.packet() : undefined;
  const eos = reader.flag(Tag.endOfStream);
  if (!piece || !reader.isDone) return undefined;
  return { kind: "message", id, eos, data: piece.data, eom: piece.eom };
}

/** A frame of who answers; undefined when it is another one than those of nearly every call. */
export function readPlainResponse(bytes: Uint8Array): PlainResponse | undefined {
  const reader = new Reader(bytes);
  const kind = reader.begin();
  const { id } = reader;
  if (kind === Tag.message) {
    const piece = reader.is(Tag.responsePacket) ? reader.packet() : undefined;
    if (!piece || !reader.isDone) return undefined;
    return { kind: "message", id, data: piece.data, eom: piece.eom };
  }
  if (kind === Tag.headers) return reader.isDone ? { kind: "headers", id } : undefined;
  if (kind !== Tag.trailers || !reader.is(SUCCESS[0]) || !reader.is(SUCCESS[1])) return undefined;
  return reader.isDone ? { kind: "success", id } : undefined;
}

/** Goes through a frame. What it does not expect makes it {@link isDone} never. */
class Reader {
  id = 0n;
  #at = 0;
  #end: number;

  constructor(private readonly bytes: Uint8Array) {
    this.#end = bytes.length;
  }

  /** Whether all has been read, and was as expected. */
  get isDone(): boolean {
    return this.#at === this.#end;
  }

  /** Reads which call it is, and the tag of what follows to the end; undefined where it does not. */
  begin(): number | undefined {
    if (!this.is(Tag.stream)) return undefined;
    const end = this.#at + 1 + (this.bytes[this.#at] ?? 0);
    this.#at++;
    if (!this.is(Tag.streamId)) return undefined;
    this.id = BigInt(this.varint());
    if (this.#at !== end) return undefined;
    const tag = this.bytes[this.#at++];
    return this.varint() === this.#end - this.#at ? tag : undefined;
  }

  is(byte: number): boolean {
    if (this.bytes[this.#at] !== byte) return false;
    this.#at++;
    return true;
  }

  /** Whether that field is there, and true. */
  flag(tag: number): boolean {
    return this.is(tag) && this.is(1);
  }

  /** A number of up to 49 bits; a longer one ends all. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 49; scale *= 128) {
      const byte = this.bytes[this.#at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    this.#fail();
    return 0;
  }

  packet(): Piece | undefined {
    const end = this.varint() + this.#at;
    if (end > this.#end) return undefined;
    const length = this.is(Tag.data) ? this.varint() : 0;
    const from = this.#at;
    this.#at += length;
    if (this.#at > end) return undefined;
    const eom = this.flag(Tag.endOfMessage);
    return this.#at === end ? { data: this.bytes.subarray(from, from + length), eom } : undefined;
  }

  /** Letters of ASCII. */
  letters(length: number): string | undefined {
    const from = this.#at;
    if (from + length > this.#end) return undefined;
    this.#at += length;
    for (const known of knownNames) if (this.#reads(known, from, length)) return known;
    let text = "";
    for (let at = from; at < this.#at; at++) {
      const letter = this.bytes[at]!;
      if (letter > 0x7f) return undefined;
      text += String.fromCharCode(letter);
    }
    if (length <= LONGEST_KNOWN) knownNames[nextName++ % MOST_NAMES] = text;
    return text;
  }

  /** From behind, where names differ. */
  #reads(text: string, from: number, length: number): boolean {
    if (text.length !== length) return false;
    for (let n = length - 1; n >= 0; n--) {
      if (this.bytes[from + n] !== text.charCodeAt(n)) return false;
    }
    return true;
  }

  #fail(): void {
    this.#end = -1;
  }
}

/** A frame up to where its content goes, which has that length. */
function begin(id: bigint, tag: number, length: number): { frame: Frame; at: number } {
  const number = Number(id);
  const idBytes = varintBytes(number);
  const frame = new Uint8Array(3 + idBytes + 1 + varintBytes(length) + length);
  frame[0] = Tag.stream;
  frame[1] = 1 + idBytes;
  frame[2] = Tag.streamId;
  const at = putVarint(frame, 3, number);
  frame[at] = tag;
  return { frame, at: putVarint(frame, at + 1, length) };
}

function packetBytes({ data: { length }, eom }: Piece): number {
  return (length > 0 ? 1 + varintBytes(length) + length : 0) + (eom ? 2 : 0);
}

function putPacket(frame: Frame, from: number, length: number, { data, eom }: Piece): number {
  let at = putVarint(frame, from, length);
  if (data.length > 0) {
    frame[at] = Tag.data;
    at = putVarint(frame, at + 1, data.length);
    frame.set(data, at);
    at += data.length;
  }
  if (!eom) return at;
  frame[at] = Tag.endOfMessage;
  frame[at + 1] = 1;
  return at + 2;
}

function varintBytes(value: number): number {
  let bytes = 1;
  for (let left = value; left >= 128; left = Math.floor(left / 128)) bytes++;
  return bytes;
}

function putVarint(frame: Frame, from: number, value: number): number {
  let at = from;
  let left = value;
  for (; left >= 128; left = Math.floor(left / 128)) frame[at++] = left % 128 + 128;
  frame[at++] = left;
  return at;
}
