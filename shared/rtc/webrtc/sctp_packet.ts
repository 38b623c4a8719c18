/** Packets of DATA and SACK, of which an open association of SCTP consists (RFC 9260). */
import { Buffer } from "node:buffer";
import { crc32c } from "./crc32c.ts";

const Type = { data: 0, sack: 3 } as const;
const HEADER_BYTES = 12;
const CHECKSUM_AT = 8;
const CHUNK_HEADER_BYTES = 4;
const DATA_HEADER_BYTES = 16;
const SACK_HEADER_BYTES = 16;

/** What {@link DataChunk.flags} has of the pieces of a message. */
export const Flags = { last: 1, first: 2, whole: 3, unordered: 4 } as const;

/** A piece of a message, or all of it. */
export class DataChunk {
  /** What is known of one that was sent. */
  abandoned = false;
  acked = false;
  retransmit = false;
  misses = 0;
  sentCount = 0;
  /** Seconds. */
  sentTime = 0;

  constructor(
    readonly flags: number,
    readonly tsn: number,
    readonly streamId: number,
    readonly streamSeqNum: number,
    readonly protocol: number,
    readonly userData: Uint8Array,
  ) {}

  readonly type = Type.data;

  /** What it takes of the receiver's window. */
  get bookSize(): number {
    return this.userData.length;
  }
}

/** What has been received. */
export interface Sack {
  readonly type: typeof Type.sack;
  readonly cumulativeTsn: number;
  readonly advertisedRwnd: number;
  /** From and to, counted from `cumulativeTsn`. */
  readonly gaps: readonly (readonly [number, number])[];
  readonly duplicates: readonly number[];
}

export function makeSack(
  cumulativeTsn: number,
  advertisedRwnd: number,
  gaps: Sack["gaps"],
  duplicates: readonly number[],
): Sack {
  return { type: Type.sack, cumulativeTsn, advertisedRwnd, gaps, duplicates };
}

/** Where a packet goes. */
export interface PacketAddress {
  readonly localPort: number;
  readonly remotePort: number;
  readonly tag: number;
}

/** Bytes of a packet that a chunk of data takes. */
export function dataBytes({ userData }: DataChunk): number {
  return padded(DATA_HEADER_BYTES + userData.length);
}

export function sackBytes({ gaps, duplicates }: Sack): number {
  return SACK_HEADER_BYTES + 4 * (gaps.length + duplicates.length);
}

/** A packet; what was received stands first. */
export function writePacket(
  { localPort, remotePort, tag }: PacketAddress,
  sack: Sack | undefined,
  chunks: readonly DataChunk[],
): Buffer {
  let size = HEADER_BYTES + (sack ? sackBytes(sack) : 0);
  for (const chunk of chunks) size += dataBytes(chunk);
  const packet = Buffer.allocUnsafe(size);
  put16(packet, 0, localPort);
  put16(packet, 2, remotePort);
  put32(packet, 4, tag);
  put32(packet, CHECKSUM_AT, 0);
  let at = HEADER_BYTES;
  if (sack) at = putSack(packet, at, sack);
  for (const chunk of chunks) at = putData(packet, at, chunk);
  putChecksum(packet, crc32c(packet));
  return packet;
}

/**
 * What is in a packet; undefined when it has other chunks, too.
 *
 * @throws {RangeError} when it is no packet.
 */
export function readPacket(
  packet: Buffer,
): { tag: number; chunks: (DataChunk | Sack)[] } | undefined {
  if (packet.length < HEADER_BYTES) throw new RangeError("a packet is shorter than its header");
  const checksum = packet.readUInt32LE(CHECKSUM_AT);
  put32(packet, CHECKSUM_AT, 0);
  const isRight = crc32c(packet) === checksum;
  putChecksum(packet, checksum);
  if (!isRight) throw new RangeError("a packet has a wrong checksum");
  const chunks: (DataChunk | Sack)[] = [];
  let hasOthers = false;
  for (let at = HEADER_BYTES; at + CHUNK_HEADER_BYTES <= packet.length;) {
    const type = packet[at]!;
    const length = get16(packet, at + 2);
    const end = at + length;
    if (length < CHUNK_HEADER_BYTES || end > packet.length) {
      throw new RangeError("a chunk is longer than its packet, or shorter than its header");
    }
    if (type === Type.data) chunks.push(readData(packet, at, end));
    else if (type === Type.sack) chunks.push(readSack(packet, at, end));
    else hasOthers = true;
    at += padded(length);
  }
  return hasOthers ? undefined : { tag: get32(packet, 4), chunks };
}

function readData(packet: Buffer, at: number, end: number): DataChunk {
  const from = at + DATA_HEADER_BYTES;
  if (from > end) throw new RangeError("a chunk of data is shorter than its header");
  return new DataChunk(
    packet[at + 1]!,
    get32(packet, at + 4),
    get16(packet, at + 8),
    get16(packet, at + 10),
    get32(packet, at + 12),
    new Uint8Array(packet.buffer, packet.byteOffset + from, end - from),
  );
}

function readSack(packet: Buffer, at: number, end: number): Sack {
  const from = at + SACK_HEADER_BYTES;
  const count = from > end ? 0 : get16(packet, at + 12);
  const to = from + 4 * count;
  if (to > end) throw new RangeError("an acknowledgement is shorter than it says");
  const gaps: [number, number][] = [];
  for (let gap = from; gap < to; gap += 4) {
    gaps.push([get16(packet, gap), get16(packet, gap + 2)]);
  }
  // What came twice changes nothing for who sent it.
  return makeSack(get32(packet, at + 4), get32(packet, at + 8), gaps, []);
}

function putData(packet: Buffer, at: number, chunk: DataChunk): number {
  const { userData } = chunk;
  const length = DATA_HEADER_BYTES + userData.length;
  packet[at] = Type.data;
  packet[at + 1] = chunk.flags;
  put16(packet, at + 2, length);
  put32(packet, at + 4, chunk.tsn);
  put16(packet, at + 8, chunk.streamId);
  put16(packet, at + 10, chunk.streamSeqNum);
  put32(packet, at + 12, chunk.protocol);
  packet.set(userData, at + DATA_HEADER_BYTES);
  const end = at + padded(length);
  for (let pad = at + length; pad < end; pad++) packet[pad] = 0;
  return end;
}

function putSack(packet: Buffer, at: number, sack: Sack): number {
  const { gaps, duplicates } = sack;
  packet[at] = Type.sack;
  packet[at + 1] = 0;
  put16(packet, at + 2, sackBytes(sack));
  put32(packet, at + 4, sack.cumulativeTsn);
  put32(packet, at + 8, sack.advertisedRwnd);
  put16(packet, at + 12, gaps.length);
  put16(packet, at + 14, duplicates.length);
  let next = at + SACK_HEADER_BYTES;
  for (const [from, to] of gaps) {
    put16(packet, next, from);
    put16(packet, next + 2, to);
    next += 4;
  }
  for (const tsn of duplicates) {
    put32(packet, next, tsn);
    next += 4;
  }
  return next;
}

function padded(bytes: number): number {
  return bytes + 3 & ~3;
}

function putChecksum(packet: Buffer, checksum: number): void {
  packet.writeUInt32LE(checksum, CHECKSUM_AT);
}

// Those of Buffer check their arguments, and are called some thirty times a packet.
function get16(bytes: Buffer, at: number): number {
  return bytes[at]! << 8 | bytes[at + 1]!;
}

function get32(bytes: Buffer, at: number): number {
  return (get16(bytes, at) << 16 | get16(bytes, at + 2)) >>> 0;
}

function put16(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

function put32(bytes: Buffer, at: number, value: number): void {
  put16(bytes, at, value >>> 16);
  put16(bytes, at + 2, value);
}
