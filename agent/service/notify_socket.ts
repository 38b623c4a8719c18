/** Datagrams to a unix socket, which Deno offers only behind a flag: through the C library. */

/** Sends one datagram. @throws Error that says why it could not. */
export type SendDatagram = (text: string) => void;

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** Room for a path in `sockaddr_un`. */
const LONGEST_PATH = 108;

const SYMBOLS = {
  socket: { parameters: ["i32", "i32", "i32"], result: "i32" },
  sendto: { parameters: ["i32", "buffer", "usize", "i32", "buffer", "u32"], result: "isize" },
} as const;

/**
 * Opens the way to a socket: a path, or `@NAME` in the abstract namespace of Linux. It stays open
 * for the life of the process.
 *
 * @throws Error where this system has no such library or the address is none.
 */
export function datagramsTo(address: string): SendDatagram {
  const target = socketAddress(address);
  const { symbols } = Deno.dlopen("libc.so.6", SYMBOLS);
  const socket = symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw new Error(`no socket can be made for ${address}`);
  return (text) => {
    const bytes = new TextEncoder().encode(text);
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const length = BigInt(bytes.length);
    const sent = symbols.sendto(socket, bytes, length, flags, target, target.length);
    if (Number(sent) !== bytes.length) throw new Error(`nobody takes a datagram at ${address}`);
  };
}

/** The `sockaddr_un` of an address. @throws Error */
export function socketAddress(address: string): Uint8Array<ArrayBuffer> {
  const path = new TextEncoder().encode(address);
  const isAbstract = address.startsWith("@");
  if (!isAbstract && !address.startsWith("/")) {
    throw new Error(`${JSON.stringify(address)} is no address of a unix socket`);
  }
  if (path.length >= LONGEST_PATH) throw new Error(`${address} is too long for a unix socket`);
  // A path ends with a zero byte; an abstract name begins with one and ends with the address.
  const bytes = new Uint8Array(2 + path.length + (isAbstract ? 0 : 1));
  new DataView(bytes.buffer).setUint16(0, AF_UNIX, true);
  bytes.set(path, 2);
  if (isAbstract) bytes[2] = 0;
  return bytes;
}
