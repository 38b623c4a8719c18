/** One after the other. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1 && parts[0]) return parts[0];
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Whether both have the same content; takes as long for any content of the same length. */
export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let different = 0;
  for (let i = 0; i < a.length; i++) different |= (a[i] ?? 0) ^ (b[i] ?? 0);
  return different === 0;
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Base64 with padding. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 3) {
    const [a = 0, b, c] = [bytes[i], bytes[i + 1], bytes[i + 2]];
    const bits = a << 16 | (b ?? 0) << 8 | (c ?? 0);
    text += (ALPHABET[bits >> 18] ?? "") + (ALPHABET[bits >> 12 & 63] ?? "") +
      (b === undefined ? "=" : ALPHABET[bits >> 6 & 63]) +
      (c === undefined ? "=" : ALPHABET[bits & 63]);
  }
  return text;
}

/** Bytes of base64, also of its form for URLs, with or without padding; undefined: it is none. */
export function fromBase64(text: string): Uint8Array | undefined {
  const plain = text.replace(/=+$/, "").replaceAll("-", "+").replaceAll("_", "/");
  if (plain.length % 4 === 1) return undefined;
  const out = new Uint8Array(plain.length * 3 >> 2);
  let bits = 0;
  let kept = 0;
  let at = 0;
  for (const character of plain) {
    const value = ALPHABET.indexOf(character);
    if (value < 0) return undefined;
    bits = (bits << 6 | value) & 0xffffff;
    kept += 6;
    if (kept >= 8) {
      kept -= 8;
      out[at++] = bits >> kept & 0xff;
    }
  }
  return out;
}

/** Lower-case hexadecimal. */
export function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += (byte < 16 ? "0" : "") + byte.toString(16);
  return text;
}

/** Bytes of hexadecimal; undefined: it is none. */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || /[^0-9a-fA-F]/.test(text)) return undefined;
  return Uint8Array.from(
    { length: text.length / 2 },
    (_, i) => parseInt(text.substr(2 * i, 2), 16),
  );
}
