/**
 * Lets werift agree on keys with the runtime's own cryptography. Its two libraries calculate in
 * JavaScript: 7 ms for each of the two steps that a handshake has on each side, and more for the
 * first.
 */
import { Buffer } from "node:buffer";
import {
  createECDH,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
} from "node:crypto";
import { p256 } from "@noble/curves/p256";
import nacl from "tweetnacl";

// What stands before the 32 bytes of a key of X25519 in PKCS #8 and SPKI (RFC 8410).
const PRIVATE_KEY = Buffer.from("302e020100300506032b656e04220420", "hex");
const PUBLIC_KEY = Buffer.from("302a300506032b656e032100", "hex");
const CURVE = "prime256v1";
/** First byte of a point of which only x is given. */
const COMPRESSED = 2;

/** Takes the place of what werift calls; to be called once, before the first handshake. */
export function useNativeCurves(): void {
  nacl.box.keyPair = Object.assign(makeX25519Keys, nacl.box.keyPair);
  nacl.scalarMult = Object.assign(multiplyX25519, nacl.scalarMult);
  Object.assign(p256, { getPublicKey: p256PublicKey, getSharedSecret: p256SharedSecret });
}

function makeX25519Keys(): { publicKey: Uint8Array; secretKey: Uint8Array } {
  const { publicKey, privateKey } = generateKeyPairSync("x25519");
  // werift takes the buffer behind them.
  return {
    publicKey: Uint8Array.from(publicKey.export({ format: "der", type: "spki" }).subarray(-32)),
    secretKey: Uint8Array.from(privateKey.export({ format: "der", type: "pkcs8" }).subarray(-32)),
  };
}

function multiplyX25519(secretKey: Uint8Array, publicKey: Uint8Array): Uint8Array {
  return diffieHellman({
    privateKey: createPrivateKey({
      key: Buffer.concat([PRIVATE_KEY, secretKey]),
      format: "der",
      type: "pkcs8",
    }),
    publicKey: createPublicKey({
      key: Buffer.concat([PUBLIC_KEY, publicKey]),
      format: "der",
      type: "spki",
    }),
  });
}

function p256PublicKey(secretKey: Uint8Array): Uint8Array {
  const own = createECDH(CURVE);
  own.setPrivateKey(Buffer.from(secretKey));
  return own.getPublicKey();
}

function p256SharedSecret(secretKey: Uint8Array, publicKey: Uint8Array): Uint8Array {
  const own = createECDH(CURVE);
  own.setPrivateKey(Buffer.from(secretKey));
  return Buffer.concat([Buffer.of(COMPRESSED), own.computeSecret(Buffer.from(publicKey))]);
}
