import { Buffer } from "node:buffer";

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
const V1_LONGEST = 107;

/**
 * Reads a PROXY protocol header, version 1 (text) or 2 (binary), from the first bytes of a
 * connection. Format: HAProxy's proxy-protocol.txt, sections 2.1 and 2.2.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const prefix = bytes.subarray(0, V2_SIGNATURE.length);
  if (prefix.equals(V2_SIGNATURE.subarray(0, prefix.length))) {
    return prefix.length < V2_SIGNATURE.length ? { kind: "incomplete" } : readV2(bytes);
  }
  if ("PROXY ".startsWith(bytes.subarray(0, 6).toString("latin1"))) return readV1(bytes);
  return { kind: "invalid", reason: "the connection does not start with a PROXY header" };
}

function readV1(bytes: Buffer): ProxyHeader {
  const end = bytes.indexOf("\r\n");
  if (end === -1) {
    return bytes.length < V1_LONGEST
      ? { kind: "incomplete" }
      : { kind: "invalid", reason: "a version 1 PROXY header has at most 107 bytes" };
  }
  const line = bytes.subarray(0, end).toString("latin1");
  const [, family, address, , port] = line.split(" ");
  const length = end + 2;
  if (family === "UNKNOWN") return { kind: "local", length };
  if ((family !== "TCP4" && family !== "TCP6") || !address || !/^\d{1,5}$/.test(port ?? "")) {
    return { kind: "invalid", reason: `not a PROXY header: ${JSON.stringify(line)}` };
  }
  return { kind: "proxied", length, address, port: Number(port) };
}

function readV2(bytes: Buffer): ProxyHeader {
  if (bytes.length < 16) return { kind: "incomplete" };
  const length = 16 + bytes.readUInt16BE(14);
  if (bytes.length < length) return { kind: "incomplete" };
  const version = bytes[12]! >> 4;
  const command = bytes[12]! & 0x0f;
  if (version !== 2 || command > 1) {
    return { kind: "invalid", reason: `unknown PROXY version ${version} or command ${command}` };
  }
  const family = bytes[13]!;
  if (command === 0) return { kind: "local", length };
  if (family === 0x11 && length >= 28) {
    const address = [...bytes.subarray(16, 20)].join(".");
    return { kind: "proxied", length, address, port: bytes.readUInt16BE(24) };
  }
  if (family === 0x21 && length >= 52) {
    const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(16 + 2 * i).toString(16));
    return { kind: "proxied", length, address: groups.join(":"), port: bytes.readUInt16BE(48) };
  }
  return { kind: "local", length };
}
