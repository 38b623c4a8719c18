/** What keeps a peer from doing harm through the SCTP of werift. */
import type { Buffer } from "node:buffer";
import { SctpFlow } from "./sctp_flow.ts";
import type { Sack } from "./sctp_packet.ts";
import type { Association } from "./werift_internals.ts";

/** What the peer may have on the way, in bytes: at least, at most, and a second of it. */
const RECEIVE_WINDOW = { least: 128 * 1024, most: 1024 * 1024, second: 16_000_000 } as const;
/** Over what it is allowed, to be lenient with who counts a little differently. */
const WINDOW_SLACK = 64 * 1024;
/** Streams that are received: those of the two channels. The others could be 65,536. */
const CHANNELS = 2;
/** Pieces of unfinished messages; even of small messages a window has fewer. */
const MOST_PIECES = 32_768;
/** Packets that wait while one is handled; what is more is lost, as it may be on its way. */
const MOST_WAITING = 2_048;
const MOST_DUPLICATES = 64;
const TOO_MUCH = "the peer sent more than it may have in flight";
// RFC 9260 begins with 1 s; werift with 3 s. A SACK may take 200 ms, so the least is above that.
const FIRST_RTO_S = 1;
const LEAST_RTO_S = 0.4;
const MOST_RTO_S = 60;

/** What a guarded association has to do with the rest of its connection. */
export interface GuardOptions {
  /** Seconds to the peer and back. */
  readonly roundTripS: number;
  /** Packets are of many kilobytes. */
  readonly isLarge: boolean;
  /** Puts a packet on its way. */
  readonly send: (packet: Buffer) => void;
  /** So much data of a stream has been sent for the first time. */
  readonly left: (streamId: number, bytes: number) => void;
  /** It has to end, in words. */
  readonly end: (reason: string) => void;
}

/** The way in and out of a guarded association. */
export interface GuardedAssociation {
  readonly flow: SctpFlow;
  /** Takes a packet of the peer. */
  receive(packet: Buffer): void;
}

/**
 * Changes an association so that packets are handled one after the other, errors end the connection
 * and not the process, and what the peer may make us keep is bounded.
 */
export function guardAssociation(
  association: Association,
  { roundTripS, isLarge, send, left, end }: GuardOptions,
): GuardedAssociation {
  association.advertisedRwnd = receiveWindow(roundTripS);
  const fail = (error: unknown) => end(`SCTP failed: ${String(error)}`);
  boundMemory(association, end);
  countTimeouts(association);
  const flow = new SctpFlow(association, { isLarge, send, left, fail });
  return { flow, receive: handleInTurn(association, flow, fail) };
}

/**
 * A socket of Linux holds about 130 packets until it drops them, so a peer that is near gets no more;
 * one that is far away would be slowed down by that.
 */
function receiveWindow(roundTripS: number): number {
  const { least, most, second } = RECEIVE_WINDOW;
  return Math.min(Math.max(Math.round(roundTripS * second), least), most);
}

/**
 * werift handles packets side by side: an acknowledgement under way then takes a later packet for
 * acknowledged, and the peer sends that once more after a second.
 */
function handleInTurn(
  association: Association,
  flow: SctpFlow,
  fail: (error: unknown) => void,
): (packet: Buffer) => void {
  const waiting: Buffer[] = [];
  let busy = false;
  const run = async () => {
    busy = true;
    for (let packet; (packet = waiting.shift());) {
      try {
        if (!flow.receive(packet)) await association.handleData(packet);
      } catch (error) {
        fail(error);
      }
    }
    busy = false;
  };
  return (packet) => {
    if (waiting.length < MOST_WAITING) waiting.push(packet);
    if (!busy) void run();
  };
}

function boundMemory(association: Association, end: (reason: string) => void): void {
  const receiveDataChunk = association.receiveDataChunk.bind(association);
  association.receiveDataChunk = (chunk) => {
    if (chunk.streamId >= CHANNELS) {
      association.sackNeeded = association.sackImmediate = true;
      association.markReceived(chunk.tsn);
      return;
    }
    const pieces = association.inboundStreams[chunk.streamId]?.reassembly.length ?? 0;
    if (association.advertisedRwnd < -WINDOW_SLACK || pieces > MOST_PIECES) return end(TOO_MUCH);
    receiveDataChunk(chunk);
  };
  const receiveSackChunk = association.receiveSackChunk.bind(association);
  association.receiveSackChunk = (chunk) =>
    receiveSackChunk({ ...chunk, gaps: inOrder(chunk.gaps) });
  // werift copies and sorts all that is out of order with each packet, and sorts it as text.
  association.markReceived = (tsn) => {
    const { sackMisOrdered: early, sackDuplicates: duplicates } = association;
    if (early.size === 0 && tsn === next(association.lastReceivedTsn)) {
      association.lastReceivedTsn = tsn;
      return false;
    }
    if (isBefore(tsn, next(association.lastReceivedTsn)) || early.has(tsn)) {
      if (duplicates.length < MOST_DUPLICATES) duplicates.push(tsn);
      return true;
    }
    if (early.size >= MOST_PIECES) {
      end(TOO_MUCH);
      return true;
    }
    early.add(tsn);
    for (let following; early.delete(following = next(association.lastReceivedTsn));) {
      association.lastReceivedTsn = following;
    }
    return false;
  };
}

/** Gaps without those that name again what others name: werift goes through each number of each. */
function inOrder(gaps: Sack["gaps"]): Sack["gaps"] {
  let last = 0;
  return gaps.filter(([from, to]) => {
    const isNew = from > last && to >= from;
    if (isNew) last = to;
    return isNew;
  });
}

/** RFC 9260, 6.3.1. */
function countTimeouts(association: Association): void {
  association.rto = FIRST_RTO_S;
  association.updateRto = (seconds) => {
    const { srtt, rttvar } = association;
    association.rttvar = srtt === undefined
      ? seconds / 2
      : 0.75 * (rttvar ?? 0) + 0.25 * Math.abs(srtt - seconds);
    association.srtt = srtt === undefined ? seconds : 0.875 * srtt + 0.125 * seconds;
    const rto = association.srtt + 4 * association.rttvar;
    association.rto = Math.min(Math.max(rto, LEAST_RTO_S), MOST_RTO_S);
  };
}

function next(tsn: number): number {
  return (tsn + 1) % 2 ** 32;
}

/** Serial numbers of 32 bits (RFC 1982). */
function isBefore(tsn: number, other: number): boolean {
  return tsn !== other && ((other - tsn) >>> 0) < 2 ** 31;
}
