import { createHmac, timingSafeEqual } from "node:crypto";

/** Begins the hash of a secret. */
const SCHEME = "$hmac-sha256$";

/**
 * A salted hash of a random secret of 128 bits or more, `$hmac-sha256$<salt>$<hash>`. One round is
 * enough for such a secret, and the same `context` gives the same hash.
 *
 * @param context what the hash is for; a hash of one context says nothing about another's.
 */
export function hashSecret(secret: string, context: string): string {
  const salt = createHmac("sha256", "salt").update(context).digest().subarray(0, 16);
  return `${SCHEME}${base64(salt)}$${base64(digest(secret, salt))}`;
}

/** Compares in constant time. A hash of another form verifies nothing. */
export function verifySecret(secret: string, hash: string): boolean {
  const [salt, expected] = hash.startsWith(SCHEME) ? hash.slice(SCHEME.length).split("$") : [];
  if (!salt || !expected) return false;
  const wanted = Uint8Array.fromBase64(expected);
  const given = digest(secret, Uint8Array.fromBase64(salt));
  return wanted.length === given.length && timingSafeEqual(wanted, given);
}

function digest(secret: string, salt: Uint8Array): Uint8Array {
  return createHmac("sha256", salt).update(secret).digest();
}

function base64(bytes: Uint8Array): string {
  return bytes.toBase64({ omitPadding: true });
}
