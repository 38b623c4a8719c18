import { Buffer } from "node:buffer";
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

/** scrypt's parameters: N is 2 to the `ln`th, memory 128 · N · r bytes, time N · r · p. */
export interface KeyCost {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/**
 * scrypt cost: N = 2^12, r = 8, p = 1 (4 MiB, some 8 ms). Our keys are random with more than 200
 * bits, so no cost makes guessing them feasible or not; a higher one would only make every machine
 * that checks a key larger by its memory, which the allocator keeps.
 */
const COST: KeyCost = { ln: 12, r: 8, p: 1 };
const HASH_BYTES = 32;

/**
 * A salted hash as a PHC string: `$scrypt$ln=14,r=8,p=1$<salt>$<hash>`, base64 without padding.
 *
 * @param cost left out: what is right for our keys; many tests have a lower one
 */
export async function hashKey(key: string, cost: KeyCost = COST): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(key, salt, cost);
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${base64(salt)}$${base64(hash)}`;
}

/** Compares in constant time. A hash that is no PHC string of ours verifies nothing. */
export async function verifyKey(key: string, phc: string): Promise<boolean> {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([^$]+)\$([^$]+)$/.exec(phc);
  if (!match) return false;
  const [, ln, r, p, salt, hash] = match as unknown as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  if (cost.ln < 1 || cost.ln > 20 || cost.r < 1 || cost.p < 1) return false;
  const expected = Buffer.from(hash, "base64");
  const actual = await derive(key, Buffer.from(salt, "base64"), cost);
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

function derive(
  key: string,
  salt: Uint8Array,
  cost: KeyCost,
): Promise<Buffer> {
  const options = { N: 2 ** cost.ln, r: cost.r, p: cost.p, maxmem: 256 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    scrypt(key, salt, HASH_BYTES, options, (error, hash) => error ? reject(error) : resolve(hash));
  });
}

function base64(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}
