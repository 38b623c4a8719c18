/** Corrections for GPS receivers, by NTRIP 1.0: an answer of HTTP that does not end. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { ByteLink } from "../serial/byte_link.ts";

/** The answer's head may be so long. */
const LONGEST_HEAD = 8 * 1024;

/** What is requested of a caster. */
export interface NtripRequest {
  readonly host: string;
  readonly mountpoint: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/**
 * Requests a stream, and hands out what comes of it until it ends.
 *
 * @param answered notified when the caster has accepted.
 * @throws {ConnectError} when the caster refuses.
 */
export async function* corrections(
  link: ByteLink,
  { host, mountpoint, username, password }: NtripRequest,
  answered: () => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const signIn = new TextEncoder().encode(`${username ?? ""}:${password ?? ""}`).toBase64();
  await link.write(new TextEncoder().encode([
    `GET /${mountpoint} HTTP/1.0`,
    `Host: ${host}`,
    "User-Agent: NTRIP machine-server",
    "Accept: */*",
    ...(username === undefined ? [] : [`Authorization: Basic ${signIn}`]),
    "\r\n",
  ].join("\r\n")));
  let head = "";
  for (;;) {
    const bytes = await link.read();
    if (!bytes) throw new ConnectError("the caster gave no answer", Code.Unavailable);
    head += String.fromCharCode(...bytes);
    const [first = ""] = head.split("\r\n", 1);
    const isOld = head.startsWith("ICY 200 OK\r\n");
    const end = isOld ? "ICY 200 OK\r\n".length : head.indexOf("\r\n\r\n") + 4;
    if (!isOld && end < 4) {
      if (head.length > LONGEST_HEAD) {
        throw new ConnectError("the caster's answer is none of NTRIP", Code.Unavailable);
      }
      continue;
    }
    if (!/^(ICY|HTTP\/1\.\d) 200\b/.test(first)) throw refused(first, mountpoint);
    answered();
    // An old caster may end its head with an empty line.
    const rest = head.slice(end).replace(/^\r\n/, "");
    if (rest.length > 0) yield Uint8Array.from(rest, (character) => character.charCodeAt(0));
    break;
  }
  for (let bytes; (bytes = await link.read());) yield new Uint8Array(bytes);
}

function refused(line: string, mountpoint: string): ConnectError {
  if (/\b401\b/.test(line)) {
    return new ConnectError(
      "the caster refuses the user; check ntrip_username and ntrip_password",
      Code.Unauthenticated,
    );
  }
  if (/^SOURCETABLE|\b404\b/.test(line)) {
    return new ConnectError(
      `the caster has no stream ${mountpoint}; check ntrip_mountpoint`,
      Code.NotFound,
    );
  }
  return new ConnectError(`the caster answers: ${line.slice(0, 80)}`, Code.Unavailable);
}
