/** Data and acknowledgements of an open association: many in a packet, few timers (RFC 9260, 6). */
import type { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";
import {
  dataBytes,
  DataChunk,
  Flags,
  makeSack,
  readPacket,
  type Sack,
  sackBytes,
  writePacket,
} from "./sctp_packet.ts";
import type { Association } from "./werift_internals.ts";

/**
 * The RFC, 6.2, recommends every second packet. In a stream, where each acknowledgement takes as
 * long as reading a packet, we acknowledge every fourth, once the sender has got going.
 */
const PACKETS_A_SACK = { first: 2, later: 4, large: 2 } as const;
const FIRST_PACKETS = 100;
/** The RFC allows 200 ms; nobody is held up by 5. */
const SACK_DELAY_MS = 5;
/** What one packet acknowledges of what came out of order; later ones have the rest. */
const MOST_GAPS = 128;
/** What the chunk of a full packet has around its data. */
const CHUNK_HEADER_BYTES = 16;
const DONE = Promise.resolve();

export interface FlowOptions {
  /** Packets are of many kilobytes. */
  readonly isLarge: boolean;
  /** Puts a packet on its way. */
  readonly send: (packet: Buffer) => void;
  /** So much data of a stream has been sent for the first time. */
  readonly left: (streamId: number, bytes: number) => void;
  /** Takes an error that nobody else would catch. */
  readonly fail: (error: unknown) => void;
}

/**
 * Takes over what werift does once an association is open. werift sends each piece of data in a
 * packet of its own, which costs much more than what is in it, and so each acknowledgement. Here what
 * is to be sent in one turn of the event loop leaves at its end, together.
 */
export class SctpFlow {
  readonly #association: Association;
  readonly #options: FlowOptions;
  /** Longest packet, without its header. */
  readonly #most: number;
  #isScheduled = false;
  #isFlushing = false;
  #isSackDue = false;
  /** Acknowledgements of the peer since something was sent; each lets a burst go. */
  #bursts = 0;
  #packets = 0;
  #unacknowledged = 0;
  /** When the oldest packet came that is not acknowledged. */
  #unacknowledgedMs = 0;
  /** When what was sent counts as lost. */
  #lostMs = 0;
  /** When that is looked at. */
  #lookMs = 0;
  #lossTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(association: Association, options: FlowOptions) {
    this.#association = association;
    this.#options = options;
    this.#most = association.maxPayloadSize + CHUNK_HEADER_BYTES;
    association.transmit = () => {
      this.#bursts++;
      this.#schedule();
      return DONE;
    };
    // werift's own, for packets that have other chunks, too, may not be able to write the gaps.
    const scheduleSack = association.scheduleSack.bind(association);
    association.scheduleSack = () => {
      if (association.state !== "connected") return scheduleSack();
      if (association.sackNeeded) this.#acknowledge();
      return DONE;
    };
    this.#keepOneTimer();
  }

  /** Sends a message. */
  send(streamId: number, protocol: number, data: Uint8Array): void {
    const { outboundQueue, outboundStreamSeq, maxPayloadSize } = this.#association;
    const sequence = outboundStreamSeq[streamId] ?? 0;
    outboundStreamSeq[streamId] = (sequence + 1) % 2 ** 16;
    for (let at = 0; at < data.length; at += maxPayloadSize) {
      const piece = data.length <= maxPayloadSize ? data : data.subarray(at, at + maxPayloadSize);
      const flags = (at === 0 ? Flags.first : 0) |
        (at + maxPayloadSize >= data.length ? Flags.last : 0);
      const tsn = this.#association.localTsn;
      this.#association.localTsn = (tsn + 1) % 2 ** 32;
      outboundQueue.push(new DataChunk(flags, tsn, streamId, sequence, protocol, piece));
    }
    this.#schedule();
  }

  /**
   * Takes a packet of the peer. Returns false for one that has more than data and acknowledgements.
   *
   * @throws {RangeError} when it is no packet.
   */
  receive(packet: Buffer): boolean {
    const association = this.#association;
    if (association.state !== "connected") return false;
    const read = readPacket(packet);
    if (!read) return false;
    if (read.tag !== association.localVerificationTag) return true;
    let hasData = false;
    for (const chunk of read.chunks) {
      if (chunk instanceof DataChunk) {
        hasData = true;
        this.#receiveData(chunk);
      } else association.receiveSackChunk(chunk).catch(this.#options.fail);
    }
    if (hasData) this.#acknowledge();
    return true;
  }

  #receiveData(chunk: DataChunk): void {
    const association = this.#association;
    const { streamId, streamSeqNum } = chunk;
    const stream = association.inboundStreams[streamId];
    const isNext = stream?.reassembly.length === 0 &&
      (chunk.flags & (Flags.whole | Flags.unordered)) === Flags.whole &&
      stream.streamSequenceNumber === streamSeqNum;
    if (!isNext) return association.receiveDataChunk(chunk);
    association.sackNeeded = true;
    if (association.markReceived(chunk.tsn)) return;
    stream.streamSequenceNumber = (streamSeqNum + 1) % 2 ** 16;
    association.receive(streamId, chunk.protocol, chunk.userData);
  }

  /** werift acknowledges each packet, which takes as long as reading it. */
  #acknowledge(): void {
    const association = this.#association;
    const isLoss = association.sackMisOrdered.size > 0 || association.sackDuplicates.length > 0;
    const { first, later, large } = PACKETS_A_SACK;
    const most = this.#options.isLarge ? large : ++this.#packets < FIRST_PACKETS ? first : later;
    if (++this.#unacknowledged === 1) this.#unacknowledgedMs = performance.now();
    if (this.#unacknowledged >= most || isLoss) {
      this.#isSackDue = true;
      // An answer takes it along; a stream, which is read in one go, would wait for it.
      if (this.#unacknowledged >= 2 * most) this.flush();
      else this.#schedule();
    } else association.sackTimeout ??= this.#acknowledgeIn(SACK_DELAY_MS);
  }

  #acknowledgeIn(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#guard(() => this.#acknowledgeLate()), ms);
  }

  #acknowledgeLate(): void {
    const association = this.#association;
    delete association.sackTimeout;
    if (this.#unacknowledged === 0 || association.isStopped) return;
    const leftMs = this.#unacknowledgedMs + SACK_DELAY_MS - performance.now();
    if (leftMs > 1) {
      association.sackTimeout = this.#acknowledgeIn(leftMs);
      return;
    }
    this.#isSackDue = true;
    this.flush();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isFlushing) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#guard(() => this.flush());
    });
  }

  /** Nobody waits for what timers do: their errors would end the process. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.fail(error);
    }
  }

  /** Sends at once what may be sent. */
  flush(): void {
    const association = this.#association;
    if (this.#isFlushing || association.isStopped || association.state !== "connected") return;
    this.#isFlushing = true;
    try {
      this.#sendAll();
    } finally {
      this.#isFlushing = false;
    }
  }

  #sendAll(): void {
    const association = this.#association;
    let sack = association.sackNeeded ? this.#makeSack() : undefined;
    let chunks: DataChunk[] = [];
    let bytes = sack ? sackBytes(sack) : 0;
    const emit = () => {
      this.#emit(sack, chunks);
      sack = undefined;
      chunks = [];
      bytes = 0;
    };
    this.#take((chunk) => {
      const more = dataBytes(chunk);
      if (bytes + more > this.#most && bytes > 0) emit();
      chunks.push(chunk);
      bytes += more;
    });
    if (chunks.length > 0 || (sack && this.#isSackDue)) emit();
  }

  #emit(sack: Sack | undefined, chunks: readonly DataChunk[]): void {
    const association = this.#association;
    const { localPort, remotePort, remoteVerificationTag: tag } = association;
    this.#options.send(writePacket({ localPort, remotePort, tag }, sack, chunks));
    if (!sack) return;
    association.sackDuplicates = [];
    association.sackNeeded = association.sackImmediate = false;
    this.#isSackDue = false;
    this.#unacknowledged = 0;
  }

  /** What may be sent now: what was lost, then what is new. */
  #take(add: (chunk: DataChunk) => void): void {
    const association = this.#association;
    const { maxPayloadSize, fastRecoveryExit, sentQueue, outboundQueue } = association;
    // werift subtracts one that is lost twice when it is acknowledged before it is sent again, and
    // never one that is sent again after it was.
    association.flightSize = bytesInFlight(sentQueue);
    const packets = (fastRecoveryExit === undefined ? 4 : 2) * Math.max(1, this.#bursts);
    this.#bursts = 0;
    const window = Math.min(association.flightSize + packets * maxPayloadSize, association.cwnd);
    let isEarliest = true;
    for (const chunk of sentQueue) {
      if (chunk.retransmit) {
        if (association.fastRecoveryTransmit) association.fastRecoveryTransmit = false;
        else if (association.flightSize >= window) break;
        association.flightSize += chunk.bookSize;
        chunk.misses = 0;
        chunk.retransmit = chunk.acked = false;
        chunk.sentCount++;
        add(chunk);
        if (isEarliest) association.timer3Restart();
      }
      isEarliest = false;
    }
    const sentTime = Date.now() / 1000;
    while (association.flightSize < window) {
      const [chunk] = outboundQueue;
      // One may always be on its way: the peer may not say when it has room again (6.1, A).
      if (!chunk || (chunk.bookSize > association.peerRwnd && association.flightSize > 0)) break;
      outboundQueue.shift();
      sentQueue.push(chunk);
      association.flightSize += chunk.bookSize;
      chunk.sentCount++;
      chunk.sentTime = sentTime;
      add(chunk);
      if (!association.timer3Handle) association.timer3Start();
      this.#options.left(chunk.streamId, chunk.bookSize);
    }
  }

  #makeSack(): Sack {
    const { lastReceivedTsn: last, sackMisOrdered, sackDuplicates, advertisedRwnd } =
      this.#association;
    const early = [...sackMisOrdered].map((tsn) => (tsn - last) >>> 0).sort((a, b) => a - b);
    const gaps: [number, number][] = [];
    for (const place of early) {
      const gap = gaps.at(-1);
      if (gap && gap[1] === place - 1) gap[1] = place;
      else if (gaps.push([place, place]) === MOST_GAPS) break;
    }
    return makeSack(last, Math.max(0, advertisedRwnd), gaps, sackDuplicates);
  }

  /** werift makes and clears a timer with each acknowledgement; here one stays and is set forward. */
  #keepOneTimer(): void {
    const association = this.#association;
    const set = (ms: number) => {
      clearTimeout(this.#lossTimer);
      this.#lookMs = performance.now() + ms;
      this.#lossTimer = setTimeout(() => this.#guard(look), ms);
    };
    const look = () => {
      this.#lossTimer = undefined;
      if (association.timer3Handle === undefined || association.isStopped) return;
      const leftMs = this.#lostMs - performance.now();
      if (leftMs <= 1) return association.timer3Expired();
      set(leftMs);
      association.timer3Handle = this.#lossTimer;
    };
    association.timer3Start = association.timer3Restart = () => {
      if (association.isStopped) return;
      const ms = association.rto * 1_000;
      this.#lostMs = performance.now() + ms;
      if (!this.#lossTimer || this.#lostMs < this.#lookMs) set(ms);
      association.timer3Handle = this.#lossTimer;
    };
    association.timer3Cancel = () => {
      delete association.timer3Handle;
      if (!association.isStopped) return;
      clearTimeout(this.#lossTimer);
      this.#lossTimer = undefined;
    };
  }
}

/** What has been sent, is not acknowledged, and does not count as lost. */
function bytesInFlight(sent: readonly DataChunk[]): number {
  let bytes = 0;
  for (const chunk of sent) if (!chunk.acked && !chunk.retransmit) bytes += chunk.bookSize;
  return bytes;
}
