import { Buffer } from "node:buffer";
import { createPrivateKey, createPublicKey, type KeyObject, scryptSync, sign } from "node:crypto";
import { minisignHash, PREHASHED, signedComment } from "../../shared/transfer/releases/minisign.ts";

// minisign's secret key: https://jedisct1.github.io/minisign/#secret-key-format
const FILE_BYTES = 158;
const KDF_AT = 2;
const SALT_AT = 6;
const OPERATIONS_AT = 38;
const MEMORY_AT = 46;
const SECRET_AT = 54;
const KEY_ID_BYTES = 8;
const SEED_BYTES = 32;
/** DER that stands before the 32 bytes of an Ed25519 private key (RFC 8410). */
const PRIVATE_KEY_DER = Buffer.from("302e020100300506032b657004220420", "hex");
/** libsodium's crypto_pwhash_scryptsalsa208sha256 has a fixed block size. */
const SCRYPT_BLOCK = 8;

/** Signs what a release consists of. */
export class SigningKey {
  readonly #id: Buffer;
  readonly #key: KeyObject;

  private constructor(id: Buffer, key: KeyObject) {
    this.#id = id;
    this.#key = key;
  }

  /**
   * Reads a secret key that `minisign -G` made.
   *
   * @param password undefined for a key without one (`minisign -G -W`)
   * @throws {RangeError} for what is no such key, or with a wrong password
   */
  static read(text: string, password: string | undefined): SigningKey {
    const bytes = Buffer.from(text.trim().split(/\r?\n/).at(-1) ?? "", "base64");
    if (bytes.length !== FILE_BYTES || bytes.toString("latin1", 0, KDF_AT) !== "Ed") {
      throw new RangeError("this is no secret key of minisign; make one with: minisign -G");
    }
    const secret = bytes.subarray(SECRET_AT);
    const kdf = bytes.toString("latin1", KDF_AT, KDF_AT + 2);
    if (kdf === "Sc") {
      if (password === undefined) {
        throw new RangeError("the key has a password; give it in MACHINE_RELEASE_PASSWORD");
      }
      const stream = keyStream(bytes, password, secret.length);
      for (const [at, byte] of stream.entries()) secret[at] = secret[at]! ^ byte;
    } else if (kdf !== "\0\0") throw new RangeError("the key is encrypted in an unknown way");
    const seed = secret.subarray(KEY_ID_BYTES, KEY_ID_BYTES + SEED_BYTES);
    const held = secret.subarray(KEY_ID_BYTES + SEED_BYTES, KEY_ID_BYTES + 2 * SEED_BYTES);
    const key = createPrivateKey({
      key: Buffer.concat([PRIVATE_KEY_DER, seed]),
      format: "der",
      type: "pkcs8",
    });
    if (!publicBytes(key).equals(held)) {
      throw new RangeError(
        kdf === "Sc" ? "the password of the key is wrong" : "the key is damaged",
      );
    }
    return new SigningKey(Buffer.from(secret.subarray(0, KEY_ID_BYTES)), key);
  }

  /** The public key as minisign's file, for `minisign -p` and `release sync --key`. */
  get publicFile(): string {
    // Without zeros in front, as minisign writes it.
    const id = Buffer.from(this.#id).readBigUInt64LE().toString(16).toUpperCase();
    const bytes = Buffer.concat([Buffer.from("Ed"), this.#id, publicBytes(this.#key)]);
    return `untrusted comment: minisign public key ${id}\n${bytes.toString("base64")}\n`;
  }

  /** The public key for `openssl pkeyutl -verify`, as install.sh checks manifests. */
  get publicPem(): string {
    return createPublicKey(this.#key).export({ type: "spki", format: "pem" }).toString();
  }

  /**
   * A detached signature in minisign's format.
   *
   * @param comment is covered by the signature, one line
   */
  minisign(file: Uint8Array, comment: string): string {
    const signature = sign(null, minisignHash(file), this.#key);
    const global = sign(null, signedComment(signature, comment), this.#key);
    const first = Buffer.concat([Buffer.from(PREHASHED), this.#id, signature]);
    return [
      "untrusted comment: signature of a machine release",
      first.toString("base64"),
      `trusted comment: ${comment}`,
      global.toString("base64"),
      "",
    ].join("\n");
  }

  /** A plain Ed25519 signature, 64 bytes. */
  sign(text: string): Uint8Array {
    return sign(null, Buffer.from(text), this.#key);
  }
}

function publicBytes(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: "spki", format: "der" }).subarray(-SEED_BYTES);
}

function keyStream(file: Buffer, password: string, length: number): Buffer {
  const salt = file.subarray(SALT_AT, OPERATIONS_AT);
  const operations = Number(file.readBigUInt64LE(OPERATIONS_AT));
  const memory = Number(file.readBigUInt64LE(MEMORY_AT));
  const { N, p } = scryptCost(operations, memory);
  const maxmem = 2 * 128 * N * SCRYPT_BLOCK * p;
  return scryptSync(password, salt, length, { N, p, r: SCRYPT_BLOCK, maxmem });
}

/** How libsodium chooses scrypt's cost from its two limits (pickparams). */
export function scryptCost(operations: number, memory: number): { N: number; p: number } {
  const limited = Math.max(operations, 32768);
  const power = (most: number): number => {
    let log = 1;
    while (log < 63 && 2 ** log <= most / 2) log++;
    return 2 ** log;
  };
  if (limited < memory / 32) return { N: power(limited / (SCRYPT_BLOCK * 4)), p: 1 };
  const N = power(memory / (SCRYPT_BLOCK * 128));
  return { N, p: Math.floor(Math.min(limited / 4 / N, 0x3fffffff) / SCRYPT_BLOCK) };
}
