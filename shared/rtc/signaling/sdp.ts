/** Session descriptions in the form in which they travel through signalling; for browsers, too. */
import { Code, ConnectError } from "@connectrpc/connect";

/** A session description, as `RTCSessionDescription` has it. */
export interface SessionDescription {
  readonly type: "offer" | "answer";
  /** Text of the SDP. */
  readonly sdp: string;
}

/** Longest encoded description that is taken, in characters. Real ones have 1 to 20 KiB. */
export const MAX_SDP_CHARS = 256 * 1024;

/** Base64 of its JSON form. */
export function encodeSdp({ type, sdp }: SessionDescription): string {
  const bytes = new TextEncoder().encode(JSON.stringify({ type, sdp }));
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/**
 * The reverse of {@link encodeSdp}.
 *
 * @throws {ConnectError} INVALID_ARGUMENT when the text is something else, or too long.
 */
export function decodeSdp(text: string): SessionDescription {
  checkSdpLength(text);
  let found: unknown;
  try {
    found = JSON.parse(utf8(atob(text)));
  } catch {
    throw unreadable("it is not base64 of JSON");
  }
  const { type, sdp } = Object(found) as { type?: unknown; sdp?: unknown };
  if (type !== "offer" && type !== "answer") {
    throw unreadable('its "type" is neither "offer" nor "answer"');
  }
  if (typeof sdp !== "string") throw unreadable('its "sdp" is no text');
  return { type, sdp };
}

function utf8(binary: string): string {
  return new TextDecoder().decode(Uint8Array.from(binary, (letter) => letter.charCodeAt(0)));
}

/** @throws {ConnectError} INVALID_ARGUMENT when an encoded description is missing or too long. */
function checkSdpLength(text: string): void {
  if (text === "") throw new ConnectError("the sdp is missing", Code.InvalidArgument);
  if (text.length > MAX_SDP_CHARS) {
    throw new ConnectError(
      `the sdp has ${text.length} characters; at most ${MAX_SDP_CHARS} are allowed`,
      Code.InvalidArgument,
    );
  }
}

function unreadable(reason: string): ConnectError {
  return new ConnectError(
    `the sdp cannot be read: ${reason}; send base64 of {"type": "offer", "sdp": "…"}`,
    Code.InvalidArgument,
  );
}
