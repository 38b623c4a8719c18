/** Puts several chunks of data into one packet (RFC 9260, 6.10); werift sends one in each. */
import { Buffer } from "node:buffer";
import type { Association, SentChunk } from "./werift_internals.ts";

const DATA = 0;
/** What the chunk of a full packet has around its data. */
const CHUNK_HEADER_BYTES = 16;

/**
 * Lets data that is sent in one go leave together. A call is several short messages, and a packet
 * costs much more than what is in it.
 */
export function bundleData(association: Association): void {
  const send = association.sendChunk.bind(association);
  const transmit = association.transmit.bind(association);
  const most = association.maxPayloadSize + CHUNK_HEADER_BYTES;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let isTransmitting = false;
  const flush = (): Promise<void> => {
    const bytes = waiting.length === 1 ? waiting[0] : Buffer.concat(waiting);
    const isEmpty = waiting.length === 0;
    waiting = [];
    waitingBytes = 0;
    return isEmpty || !bytes ? Promise.resolve() : send({ type: DATA, bytes });
  };
  association.sendChunk = (chunk: SentChunk) => {
    if (!isTransmitting || chunk.type !== DATA) return send(chunk);
    const { bytes } = chunk;
    const full = waitingBytes + bytes.length > most ? flush() : Promise.resolve();
    waiting.push(bytes);
    waitingBytes += bytes.length;
    return full;
  };
  association.transmit = async () => {
    // The one under way takes what has come meanwhile.
    if (isTransmitting) return await transmit();
    isTransmitting = true;
    try {
      await transmit();
    } finally {
      isTransmitting = false;
      await flush();
    }
  };
}
