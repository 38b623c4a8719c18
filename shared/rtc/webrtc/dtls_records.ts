/** Records of DTLS 1.2 with keys: AES-128-GCM (RFC 5288), the only cipher that werift agrees on. */
import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv } from "node:crypto";

const ALGORITHM = "aes-128-gcm";
export const HEADER_BYTES = 13;
const EPOCH = 1;
export const SALT_BYTES = 4;
const NUMBER_BYTES = 8;
const TAG_BYTES = 16;
const OVERHEAD_BYTES = NUMBER_BYTES + TAG_BYTES;
const OPTIONS = { authTagLength: TAG_BYTES };
/** Larger than the number of records of any handshake; werift numbers its own from 0. */
const FIRST_NUMBER = 10_000;

/** A key, and what each nonce of it begins with. */
export interface RecordKey {
  readonly key: Buffer;
  readonly salt: Buffer;
}

/** Both directions of one session. */
export class DtlsRecords {
  readonly #write: RecordKey;
  readonly #read: RecordKey;
  #number = FIRST_NUMBER;
  // Their content is copied before each call returns.
  readonly #nonce = Buffer.alloc(SALT_BYTES + NUMBER_BYTES);
  readonly #additional = Buffer.alloc(HEADER_BYTES);

  constructor({ write, read }: { write: RecordKey; read: RecordKey }) {
    this.#write = write;
    this.#read = read;
  }

  /** The next record, with its own number. */
  seal(contentType: number, content: Uint8Array): Buffer {
    const record = Buffer.allocUnsafe(HEADER_BYTES + OVERHEAD_BYTES + content.length);
    record[0] = contentType;
    record[1] = 254;
    record[2] = 253;
    record.writeUInt16BE(EPOCH, 3);
    record.writeUIntBE(this.#number++, 5, 6);
    record.writeUInt16BE(OVERHEAD_BYTES + content.length, 11);
    record.copyWithin(HEADER_BYTES, 3, 3 + NUMBER_BYTES);
    const nonce = this.#nonceOf(this.#write, record);
    const cipher = createCipheriv(ALGORITHM, this.#write.key, nonce, OPTIONS);
    cipher.setAAD(this.#additionalOf(record, content.length));
    record.set(cipher.update(content), HEADER_BYTES + NUMBER_BYTES);
    cipher.final();
    record.set(cipher.getAuthTag(), record.length - TAG_BYTES);
    return record;
  }

  /** What is in a record; undefined when it is not of the peer. */
  open(record: Buffer): Buffer | undefined {
    const from = HEADER_BYTES + NUMBER_BYTES;
    const to = record.length - TAG_BYTES;
    if (to < from) return undefined;
    const nonce = this.#nonceOf(this.#read, record);
    const decipher = createDecipheriv(ALGORITHM, this.#read.key, nonce, OPTIONS);
    decipher.setAuthTag(record.subarray(to));
    decipher.setAAD(this.#additionalOf(record, to - from));
    const content = decipher.update(record.subarray(from, to));
    try {
      decipher.final();
      return content;
    } catch {
      return undefined;
    }
  }

  #nonceOf({ salt }: RecordKey, record: Buffer): Buffer {
    this.#nonce.set(salt);
    record.copy(this.#nonce, SALT_BYTES, HEADER_BYTES, HEADER_BYTES + NUMBER_BYTES);
    return this.#nonce;
  }

  /** Epoch and number, type and version, length of the content. */
  #additionalOf(record: Buffer, contentBytes: number): Buffer {
    const additional = this.#additional;
    record.copy(additional, 0, 3, 3 + NUMBER_BYTES);
    record.copy(additional, NUMBER_BYTES, 0, 3);
    additional.writeUInt16BE(contentBytes, NUMBER_BYTES + 3);
    return additional;
  }
}
