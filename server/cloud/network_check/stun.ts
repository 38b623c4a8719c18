/** Binding requests of STUN (RFC 8489): which address others see us under. Pure. */
import type { HostPort } from "./targets.ts";

const COOKIE = 0x2112a442;
const BINDING_REQUEST = 0x0001;
const BINDING_SUCCESS = 0x0101;
const MAPPED_ADDRESS = 0x0001;
const XOR_MAPPED_ADDRESS = 0x0020;
const HEADER_BYTES = 20;
const TRANSACTION_BYTES = 12;

/** A request with this transaction id of 12 bytes. */
export function bindingRequest(transaction: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, BINDING_REQUEST);
  view.setUint32(4, COOKIE);
  bytes.set(transaction, 8);
  return bytes;
}

export function newTransaction(): Uint8Array<ArrayBuffer> {
  return crypto.getRandomValues(new Uint8Array(TRANSACTION_BYTES));
}

/** The transaction id of a message as text; undefined when it is no STUN message. */
export function transactionOf(message: Uint8Array): string | undefined {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  if (message.length < HEADER_BYTES || view.getUint32(4) !== COOKIE) return undefined;
  return transactionText(message.subarray(8, HEADER_BYTES));
}

export function transactionText(transaction: Uint8Array): string {
  return transaction.toHex();
}

/** Bytes of a whole message, once its header is there. */
export function messageLength(message: Uint8Array): number | undefined {
  if (message.length < 4) return undefined;
  return HEADER_BYTES + (message[2]! << 8 | message[3]!);
}

/**
 * Our address and port as the server sees them.
 *
 * @throws an error when the answer is none to a binding request.
 */
export function mappedAddress(message: Uint8Array): HostPort {
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  if (message.length < HEADER_BYTES || view.getUint16(0) !== BINDING_SUCCESS) {
    throw new Error("the answer is no success of STUN");
  }
  let plain: HostPort | undefined;
  for (let at = HEADER_BYTES; at + 4 <= message.length;) {
    const type = view.getUint16(at);
    const length = view.getUint16(at + 2);
    const value = message.subarray(at + 4, at + 4 + length);
    if (value.length < length) break;
    if (type === XOR_MAPPED_ADDRESS) return readAddress(value, message.subarray(4, HEADER_BYTES));
    if (type === MAPPED_ADDRESS) plain = readAddress(value, new Uint8Array(16));
    at += 4 + Math.ceil(length / 4) * 4;
  }
  if (plain) return plain;
  throw new Error("the answer names no address");
}

/** @param mask cookie and transaction id, or zeros. */
function readAddress(value: Uint8Array, mask: Uint8Array): HostPort {
  const bytes = value[1] === 1 ? 4 : value[1] === 2 ? 16 : 0;
  if (bytes === 0 || value.length < 4 + bytes) throw new Error("the answer's address is damaged");
  const port = (value[2]! ^ mask[0]!) << 8 | value[3]! ^ mask[1]!;
  const address = Array.from(value.subarray(4, 4 + bytes), (byte, i) => byte ^ mask[i]!);
  if (bytes === 4) return { host: address.join("."), port };
  const groups = Array.from(
    { length: 8 },
    (_, i) => (address[2 * i]! << 8 | address[2 * i + 1]!).toString(16),
  );
  return { host: groups.join(":"), port };
}
