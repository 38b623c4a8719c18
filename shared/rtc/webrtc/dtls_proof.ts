/**
 * What proves that the peer of DTLS holds the key of its certificate. werift
 * compares the certificate only: whoever can answer in the peer's place could show it too.
 */
import { Buffer } from "node:buffer";
import {
  constants,
  createHash,
  createHmac,
  timingSafeEqual,
  verify,
  X509Certificate,
} from "node:crypto";
import type { Fingerprint } from "./data_channel_sdp.ts";

/** Types of handshake messages (RFC 5246, 7.4). */
export const HandshakeType = {
  clientHello: 1,
  keyExchange: 12,
  certificateVerify: 15,
  finished: 20,
} as const;

const HASHES: Readonly<Record<number, string>> = { 4: "sha256", 5: "sha384", 6: "sha512" };
const RSA = 1;
const ECDSA = 3;
/** First byte of signature schemes that name hash and padding themselves (RFC 8446, 4.2.3). */
const INTRINSIC = 8;
const PSS_HASHES: Readonly<Record<number, string>> = { 4: "sha256", 5: "sha384", 6: "sha512" };
const ED25519 = 7;
const VERIFY_DATA_BYTES = 12;

/** Hashes of certificates that are good enough. */
const FINGERPRINT_HASHES: Readonly<Record<string, string>> = {
  "sha-256": "sha256",
  "sha-384": "sha384",
  "sha-512": "sha512",
};

/** Whether the certificate (DER) is the one that signalling named. */
export function hasFingerprint(certificate: Buffer, fingerprints: readonly Fingerprint[]): boolean {
  return fingerprints.some(({ algorithm, value }) => {
    const hash = FINGERPRINT_HASHES[algorithm];
    if (hash === undefined) return false;
    const found = createHash(hash).update(certificate).digest("hex").toUpperCase();
    return found === value.replaceAll(":", "");
  });
}

/**
 * Whether the key exchange of a server (its body: curve, public key, signature) is signed with the
 * certificate's key and for this handshake.
 */
export function isServersKey(
  { certificate, body, publicKey, clientRandom, serverRandom }: {
    certificate: Buffer;
    body: Buffer;
    /** The key that was used. */
    publicKey: Buffer;
    clientRandom: Buffer;
    serverRandom: Buffer;
  },
): boolean {
  const end = 4 + (body[3] ?? 0);
  if (!body.subarray(4, end).equals(publicKey)) return false;
  const signed = Buffer.concat([clientRandom, serverRandom, body.subarray(0, end)]);
  return isSigned(certificate, signed, body.subarray(end));
}

/**
 * Whether `signature` (two bytes of algorithm, two of length, then itself) was made over `signed`
 * with the certificate's key. An algorithm that is not known is none.
 */
export function isSigned(certificate: Buffer, signed: Buffer, signature: Buffer): boolean {
  if (signature.length < 4) return false;
  const [hash = 0, kind = 0] = signature;
  const value = signature.subarray(4, 4 + signature.readUInt16BE(2));
  const key = new X509Certificate(certificate).publicKey;
  if (hash === INTRINSIC && kind === ED25519) return verify(null, signed, key, value);
  if (hash === INTRINSIC) {
    const name = PSS_HASHES[kind];
    const padding = constants.RSA_PKCS1_PSS_PADDING;
    const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
    return name !== undefined && verify(name, signed, { key, padding, saltLength }, value);
  }
  const name = HASHES[hash];
  return name !== undefined && (kind === RSA || kind === ECDSA) && verify(name, signed, key, value);
}

/** Whether the peer's last message covers the same handshake that we saw (RFC 5246, 7.4.9). */
export function isFinished(
  { masterSecret, transcript, byClient, found }: {
    masterSecret: Buffer;
    /** All messages before that one. */
    transcript: Buffer;
    byClient: boolean;
    found: Buffer;
  },
): boolean {
  const label = byClient ? "client finished" : "server finished";
  const seed = Buffer.concat([
    Buffer.from(label),
    createHash("sha256").update(transcript).digest(),
  ]);
  const hmac = (data: Buffer) => createHmac("sha256", masterSecret).update(data).digest();
  const wanted = hmac(Buffer.concat([hmac(seed), seed])).subarray(0, VERIFY_DATA_BYTES);
  return found.length === wanted.length && timingSafeEqual(found, wanted);
}
