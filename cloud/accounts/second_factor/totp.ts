import { createHmac } from "node:crypto";

/** Seconds that a code counts for (RFC 6238), and how many digits it has. */
const STEP_SECONDS = 30;
const DIGITS = 6;
/** Steps to either side that are taken, for clocks that differ. */
const SLACK = 1;

/** The time step at a moment. */
export function stepAt(now: Date): number {
  return Math.floor(now.getTime() / 1000 / STEP_SECONDS);
}

/** The code of a time step: RFC 6238 with HMAC-SHA-1, which is what authenticators compute. */
export function codeOf(secret: Uint8Array, step: number, digits = DIGITS): string {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  const hash = createHmac("sha1", secret).update(new Uint8Array(counter.buffer)).digest();
  const offset = hash[hash.length - 1]! & 15;
  const number = hash.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, "0");
}

/** The step whose code this is, near a moment and after `lastStep`; undefined: it is none. */
export function fittingStep(
  secret: Uint8Array,
  code: string,
  now: Date,
  lastStep: number,
): number | undefined {
  const digits = code.replace(/\s/g, "");
  if (!/^\d{6}$/.test(digits)) return undefined;
  const current = stepAt(now);
  for (let step = current - SLACK; step <= current + SLACK; step++) {
    // Codes are short-lived and count once, so how long comparing takes reveals nothing of use.
    if (step > lastStep && codeOf(secret, step) === digits) return step;
  }
}

/** RFC 4648, without padding. */
export function base32(bytes: Uint8Array): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  let [bits, value, text] = [0, 0, ""];
  for (const byte of bytes) {
    value = (value << 8 | byte) & 0xffff;
    for (bits += 8; bits >= 5; bits -= 5) text += letters[value >> (bits - 5) & 31];
  }
  return bits > 0 ? text + letters[value << (5 - bits) & 31] : text;
}

/** What authenticators read from a QR code. */
export function otpauthUrl(secret: Uint8Array, account: string, issuer: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  const query = new URLSearchParams({ secret: base32(secret), issuer });
  return `otpauth://totp/${label}?${query}`;
}
