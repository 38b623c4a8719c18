import { type HostPort, hostPortOf } from "./destinations.ts";

/** The beginning of a connection to an HTTP proxy. */
export interface RequestHead {
  readonly target: HostPort;
  /** CONNECT: the bytes that follow are for the target itself. */
  readonly isTunnel: boolean;
  /** What the target gets first. */
  forTarget(): Uint8Array;
  /** What a further proxy gets first. @param authorization empty: none */
  forProxy(authorization: string): Uint8Array;
}

const MOST_BYTES = 16_384;
const END = "\r\n\r\n";
/** Of one connection, and not for the next one. */
const HOP = /^(connection|proxy-connection|proxy-authorization|keep-alive)\s*:/i;

/**
 * Reads the head of a request to a proxy. Each plain request gets a connection of its own.
 *
 * @returns undefined for what is no such request, or has a head over 16 KiB.
 */
export async function readHead(socket: Pick<Deno.Conn, "read">): Promise<RequestHead | undefined> {
  const bytes = new Uint8Array(MOST_BYTES);
  for (let length = 0; length < MOST_BYTES;) {
    const count = await socket.read(bytes.subarray(length));
    if (count === null) return undefined;
    const from = Math.max(0, length - END.length + 1);
    length += count;
    const at = from + latin(bytes.subarray(from, length)).indexOf(END);
    if (at < from) continue;
    return parse(latin(bytes.subarray(0, at)), bytes.slice(at + END.length, length));
  }
  return undefined;
}

function parse(head: string, rest: Uint8Array): RequestHead | undefined {
  const [line = "", ...headers] = head.split("\r\n");
  const [, method = "", wanted = ""] = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(line) ?? [];
  const isTunnel = method === "CONNECT";
  const isUrl = /^http:\/\//i.test(wanted);
  const target = isTunnel ? authorityOf(wanted) : isUrl ? hostPortOf(wanted) : undefined;
  if (!target) return undefined;
  const kept = headers.filter((header) => !HOP.test(header));
  const whole = (lines: readonly string[]) => joined(`${lines.join("\r\n")}${END}`, rest);
  return {
    target,
    isTunnel,
    forTarget() {
      if (isTunnel) return rest;
      const url = new URL(wanted);
      return whole([
        `${method} ${url.pathname}${url.search} HTTP/1.1`,
        ...kept,
        "Connection: close",
      ]);
    },
    forProxy(authorization) {
      const extra = authorization === "" ? [] : [`Proxy-Authorization: ${authorization}`];
      const closing = isTunnel ? [] : ["Connection: close"];
      return whole([line, ...kept, ...extra, ...closing]);
    },
  };
}

function authorityOf(text: string): HostPort | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]/?#@\s]+):(\d{1,5})$/.exec(text);
  const url = match && hostPortOf(`http://${match[1]}:${match[2]}`);
  return url ? { ...url, port: Number(match[2]) } : undefined;
}

function latin(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

function joined(text: string, rest: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(text.length + rest.length);
  for (let at = 0; at < text.length; at++) bytes[at] = text.charCodeAt(at);
  bytes.set(rest, text.length);
  return bytes;
}
