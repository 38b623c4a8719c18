/** What keeps a peer from doing harm through the SCTP of werift, and makes that quicker. */
import type { Buffer } from "node:buffer";
import type { Association } from "./werift_internals.ts";

/** What werift allows the other side to have on the way, in bytes. */
const RECEIVE_WINDOW = 1024 * 1024;
/** Over what it is allowed, to be lenient with who counts a little differently. */
const WINDOW_SLACK = 64 * 1024;
/** Streams that are heard: those of the two channels. The others could be 65,536. */
const CHANNELS = 2;
/** Pieces of unfinished messages; even of small messages a window has fewer. */
const MOST_PIECES = 32_768;
/** Packets that wait while one is handled; what is more is lost, as it may be on its way. */
const MOST_WAITING = 2_048;
const MOST_DUPLICATES = 64;
/** Packets that one acknowledgement may be late for, while others already wait. */
const PACKETS_A_SACK = 4;
// RFC 9260 begins with 1 s; werift with 3 s. A SACK may take 200 ms, so the least is above that.
const FIRST_RTO_S = 1;
const LEAST_RTO_S = 0.4;
const MOST_RTO_S = 60;

/**
 * Changes an association so that packets are handled one after the other, errors end the connection
 * and not the process, and what the other side may make us keep is bounded.
 *
 * @returns what takes the packets of the other side.
 */
export function guardAssociation(
  association: Association,
  end: (reason: string) => void,
): (packet: Buffer) => void {
  const fail = (error: unknown) => end(`SCTP failed: ${String(error)}`);
  const transmit = association.transmit.bind(association);
  association.transmit = () => transmit().catch(fail);
  boundMemory(association, end);
  countTimeouts(association);
  return handleInTurn(association, fail);
}

/**
 * werift handles packets side by side: an acknowledgement under way then takes a later packet for
 * acknowledged, and the other side sends that once more after a second.
 */
function handleInTurn(
  association: Association,
  fail: (error: unknown) => void,
): (packet: Buffer) => void {
  const waiting: Buffer[] = [];
  let busy = false;
  let late = 0;
  const scheduleSack = association.scheduleSack.bind(association);
  association.scheduleSack = () => {
    if (waiting.length > 0 && ++late < PACKETS_A_SACK) return Promise.resolve();
    late = 0;
    return scheduleSack();
  };
  const run = async () => {
    busy = true;
    for (let packet; (packet = waiting.shift());) {
      await association.handleData(packet).catch(fail);
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
    if (association.advertisedRwnd < -WINDOW_SLACK || pieces > MOST_PIECES) {
      return end(
        `the other side sent more than it may: over ${RECEIVE_WINDOW} bytes of unfinished messages`,
      );
    }
    receiveDataChunk(chunk);
  };
  // werift copies and sorts all that is out of order with each packet, and sorts it as text.
  association.markReceived = (tsn) => {
    const { sackMisOrdered: early, sackDuplicates: duplicates } = association;
    if (isBefore(tsn, next(association.lastReceivedTsn)) || early.has(tsn)) {
      if (duplicates.length < MOST_DUPLICATES) duplicates.push(tsn);
      return true;
    }
    early.add(tsn);
    for (let following; early.delete(following = next(association.lastReceivedTsn));) {
      association.lastReceivedTsn = following;
    }
    return false;
  };
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
