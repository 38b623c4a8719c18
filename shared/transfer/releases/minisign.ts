import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";

/** Bytes of the parts of minisign's files (https://jedisct1.github.io/minisign/#signature-format). */
const ALGORITHM_BYTES = 2;
const KEY_ID_BYTES = 8;
const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** "ED": over the BLAKE2b-512 hash of the file, as minisign signs since 0.8. */
export const PREHASHED = "ED";
const TRUSTED_COMMENT = "trusted comment: ";
/** DER that stands before the 32 bytes of an Ed25519 public key (RFC 8410). */
const PUBLIC_KEY_DER = Buffer.from("302a300506032b6570032100", "hex");

/** Whose signatures count. */
export interface MinisignPublicKey {
  /** 8 bytes that name the key, hexadecimal. */
  readonly id: string;
  readonly key: KeyObject;
}

/**
 * Reads minisign's public key: its file of two lines, or the second line alone.
 *
 * @throws {RangeError} for what is none
 */
export function readMinisignPublicKey(text: string): MinisignPublicKey {
  const line = text.trim().split(/\r?\n/).at(-1) ?? "";
  const bytes = decode(line, ALGORITHM_BYTES + KEY_ID_BYTES + PUBLIC_KEY_BYTES);
  if (bytes?.toString("latin1", 0, ALGORITHM_BYTES) !== "Ed") {
    throw new RangeError("this is no public key of minisign: 56 characters that begin with RW");
  }
  const key = Buffer.concat([PUBLIC_KEY_DER, bytes.subarray(ALGORITHM_BYTES + KEY_ID_BYTES)]);
  return {
    id: bytes.toString("hex", ALGORITHM_BYTES, ALGORITHM_BYTES + KEY_ID_BYTES),
    key: createPublicKey({ key, format: "der", type: "spki" }),
  };
}

/**
 * Checks a file's detached signature (`.minisig`).
 *
 * @returns the trusted comment, which the signature covers
 * @throws {RangeError} saying why the signature does not count
 */
export function verifyMinisign(
  publicKey: MinisignPublicKey,
  file: Uint8Array,
  signatureText: string,
): string {
  const [, first = "", commentLine = "", second = ""] = signatureText.split(/\r?\n/);
  const signed = decode(first, ALGORITHM_BYTES + KEY_ID_BYTES + SIGNATURE_BYTES);
  const global = decode(second, SIGNATURE_BYTES);
  if (!signed || !global || !commentLine.startsWith(TRUSTED_COMMENT)) {
    throw new RangeError("the signature is not in minisign's format");
  }
  if (signed.toString("latin1", 0, ALGORITHM_BYTES) !== PREHASHED) {
    throw new RangeError("the signature is in minisign's old format, without hashing");
  }
  const id = signed.toString("hex", ALGORITHM_BYTES, ALGORITHM_BYTES + KEY_ID_BYTES);
  if (id !== publicKey.id) {
    throw new RangeError(`the signature is of key ${shown(id)}, and not of ${shown(publicKey.id)}`);
  }
  const signature = signed.subarray(ALGORITHM_BYTES + KEY_ID_BYTES);
  const comment = commentLine.slice(TRUSTED_COMMENT.length);
  if (!verify(null, minisignHash(file), publicKey.key, signature)) {
    throw new RangeError("the signature is not over this file: it was changed");
  }
  if (!verify(null, signedComment(signature, comment), publicKey.key, global)) {
    throw new RangeError("the trusted comment of the signature was changed");
  }
  return comment;
}

/** What minisign signs of a file. @returns 64 bytes */
export function minisignHash(file: Uint8Array): Buffer {
  return createHash("blake2b512").update(file).digest();
}

/** What minisign's second signature is over. */
export function signedComment(signature: Uint8Array, comment: string): Buffer {
  return Buffer.concat([signature, Buffer.from(comment)]);
}

/** A key's id as minisign prints it: little-endian. */
function shown(id: string): string {
  return Buffer.from(id, "hex").reverse().toString("hex").toUpperCase();
}

function decode(line: string, bytes: number): Buffer | undefined {
  const decoded = Buffer.from(line, "base64");
  return decoded.length === bytes && decoded.toString("base64") === line ? decoded : undefined;
}
