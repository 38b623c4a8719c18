/** Names of the sockets that modules serve on. */
import { createHash } from "node:crypto";
import { join } from "node:path";

/** Longest path of a unix socket that works on every system, in bytes. */
export const LONGEST_SOCKET_PATH = 103;
const SUFFIX = ".sock";

/**
 * `<folder>/<name>-<random>.sock`. One that would be too long is cut and distinguished by five
 * characters of the hash of the whole.
 *
 * @throws when the folder alone is too long.
 */
export function socketPath(folder: string, name: string, random: string): string {
  const whole = join(folder, `${name}-${random}`);
  if (bytesOf(whole) + SUFFIX.length <= LONGEST_SOCKET_PATH) return whole + SUFFIX;
  const mark = `-${hashOf(whole)}${SUFFIX}`;
  const room = LONGEST_SOCKET_PATH - mark.length;
  if (bytesOf(join(folder, "x")) > room) {
    throw new Error(
      `the folder for sockets, ${folder}, has a path of more than ${room} bytes, which leaves no ` +
        "room for a socket; set TMPDIR to a shorter one",
    );
  }
  let cut = whole;
  while (bytesOf(cut) > room) cut = cut.slice(0, -1);
  return cut + mark;
}

/** Five letters that keep the sockets of one module's runs apart. */
export function randomLetters(): string {
  return [...crypto.getRandomValues(new Uint8Array(5))]
    .map((byte) => String.fromCharCode(97 + byte % 26)).join("");
}

/** A TCP port of loopback that is free now. */
export function freeLoopbackPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

function hashOf(text: string): string {
  return [...createHash("sha256").update(text).digest().subarray(0, 5)]
    .map((byte) => BASE32[byte % 32]).join("");
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
