import { Buffer } from "node:buffer";
import { isIP } from "node:net";

/** What a PROXY header said: the client that the proxy speaks for, or nothing for its own checks. */
export type ProxyHeader =
  | { readonly kind: "incomplete" }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "local"; readonly length: number }
  | {
    readonly kind: "proxied";
    readonly length: number;
    readonly address: string;
    readonly port: number;
  };

const V2_SIGNATURE = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const V1_START = "PROXY ";
const V1_LONGEST = 107;
/** Addresses take 36 bytes, what else a proxy adds a few hundred; a certificate of a client more. */
const V2_LONGEST = 4_096;

/**
 * Reads a PROXY protocol header, version 1 (text) or 2 (binary), from the first bytes of a
 * connection. Format: HAProxy's proxy-protocol.txt, sections 2.1 and 2.2.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const prefix = bytes.subarray(0, V2_SIGNATURE.length);
  if (prefix.equals(V2_SIGNATURE.subarray(0, prefix.length))) {
    return prefix.length < V2_SIGNATURE.length ? { kind: "incomplete" } : readV2(bytes);
  }
  if (V1_START.startsWith(bytes.subarray(0, V1_START.length).toString("latin1"))) {
    return readV1(bytes);
  }
  return { kind: "invalid", reason: "the connection does not start with a PROXY header" };
}

/**
 * Whether a connection starts with a PROXY header. Undefined: more bytes are needed to know.
 * No request of HTTP starts as one does.
 */
export function startsWithProxyHeader(bytes: Buffer): boolean | undefined {
  for (const start of [V2_SIGNATURE, Buffer.from(V1_START)]) {
    const prefix = bytes.subarray(0, start.length);
    if (prefix.equals(start)) return true;
    if (prefix.equals(start.subarray(0, prefix.length))) return undefined;
  }
  return false;
}

function readV1(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, V1_LONGEST).indexOf("\r\n");
  if (end === -1) {
    return bytes.length < V1_LONGEST
      ? { kind: "incomplete" }
      : { kind: "invalid", reason: `a version 1 PROXY header has at most ${V1_LONGEST} bytes` };
  }
  const line = bytes.subarray(0, end).toString("latin1");
  const length = end + 2;
  if (/^PROXY UNKNOWN( |$)/.test(line)) return { kind: "local", length };
  const [, family, address = "", to = "", port, toPort, ...more] = line.split(" ");
  const version = family === "TCP4" ? 4 : family === "TCP6" ? 6 : undefined;
  const isGood = isIP(address) === version && isIP(to) === version && !address.includes("%") &&
    isPort(port) && isPort(toPort) && more.length === 0;
  if (!isGood) return { kind: "invalid", reason: `not a PROXY header: ${JSON.stringify(line)}` };
  return { kind: "proxied", length, address: plain(address), port: Number(port) };
}

/** As connections have it that come directly: short, and IPv4 where IPv6 only holds that. */
function plain(address: string): string {
  if (isIP(address) === 4) return address;
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(text);
  if (!mapped) return text;
  const [, high = "", low = ""] = mapped;
  return [...Buffer.from(high.padStart(4, "0") + low.padStart(4, "0"), "hex")].join(".");
}

function isPort(text: string | undefined): boolean {
  return text !== undefined && /^\d{1,5}$/.test(text) && Number(text) < 65_536;
}

function readV2(bytes: Buffer): ProxyHeader {
  if (bytes.length < 16) return { kind: "incomplete" };
  const version = bytes[12]! >> 4;
  const command = bytes[12]! & 0x0f;
  if (version !== 2 || command > 1) {
    return { kind: "invalid", reason: `unknown PROXY version ${version} or command ${command}` };
  }
  const length = 16 + bytes.readUInt16BE(14);
  if (length > V2_LONGEST) {
    return { kind: "invalid", reason: `a PROXY header of ${length} bytes; ${V2_LONGEST} at most` };
  }
  if (bytes.length < length) return { kind: "incomplete" };
  const family = bytes[13]!;
  if (command === 0) return { kind: "local", length };
  if (family === 0x11 && length >= 28) {
    const address = [...bytes.subarray(16, 20)].join(".");
    return { kind: "proxied", length, address, port: bytes.readUInt16BE(24) };
  }
  if (family === 0x21 && length >= 52) {
    const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(16 + 2 * i).toString(16));
    return {
      kind: "proxied",
      length,
      address: plain(groups.join(":")),
      port: bytes.readUInt16BE(48),
    };
  }
  // 0: the proxy does not know; 0x31: its caller came by a Unix socket.
  if (family === 0 || family === 0x31) return { kind: "local", length };
  return {
    kind: "invalid",
    reason: `a PROXY header of family 0x${family.toString(16)} with ${length - 16} bytes`,
  };
}
