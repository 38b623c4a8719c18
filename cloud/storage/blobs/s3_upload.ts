import { createHash } from "node:crypto";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import { Crc32c } from "../../../shared/base/files/crc32c.ts";
import { type Blob, BlobStorageError, BlobTooLargeError } from "./blob_store.ts";
import { completionBody, textOf } from "./s3_answers.ts";
import { type S3Client, S3RefusedError } from "./s3_client.ts";

/** The smallest part that S3 takes; an upload holds one at a time. */
const PART_BYTES = 5 * 1024 * 1024;
const MIB = 1024 * 1024;
const MOST_PARTS = 10_000;

/** What is uploaded, and where to. */
export interface S3Upload {
  readonly id: string;
  readonly key: string;
  readonly contents: AsyncIterable<Uint8Array>;
  readonly limitBytes: number;
}

/**
 * Brings contents to an object: small ones in one request, larger ones in parts, which become the
 * object all at once. The storage checks the hash of each request. When it ends with an error what
 * was sent is taken back, or left to the sweep when the storage is away.
 */
export async function uploadToS3(client: S3Client, upload: S3Upload): Promise<Blob> {
  const { id, key, limitBytes } = upload;
  const sums = new Sums();
  const counted = sums.through(upload.contents, limitBytes);
  let inParts: InParts | undefined;
  try {
    for await (const { bytes, isLast } of partsOf(counted, partBytesFor(limitBytes))) {
      if (isLast && !inParts) {
        await client.send({ method: "PUT", key, body: bytes, sha256: sha256Of(bytes) });
        break;
      }
      inParts ??= await InParts.begin(client, key);
      await inParts.send(bytes);
      faultPoint("object_storage.part-sent");
    }
    faultPoint("object_storage.before-complete");
    await inParts?.complete(sums.size);
    faultPoint("object_storage.stored");
    return { id, ...sums.result() };
  } catch (error) {
    await takeBack(client, key, inParts);
    throw error;
  }
}

/** An upload in parts. */
class InParts {
  readonly #tags: string[] = [];

  private constructor(
    private readonly client: S3Client,
    private readonly key: string,
    private readonly uploadId: string,
  ) {}

  static async begin(client: S3Client, key: string): Promise<InParts> {
    const { body } = await client.send({ method: "POST", key, query: { uploads: "" } });
    const uploadId = textOf(new TextDecoder().decode(body), "UploadId");
    if (uploadId) return new InParts(client, key, uploadId);
    throw new BlobStorageError(`${client.place} began an upload and gave it no id`);
  }

  async send(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const { headers } = await this.client.send({
      method: "PUT",
      key: this.key,
      query: { partNumber: String(this.#tags.length + 1), uploadId: this.uploadId },
      body: bytes,
      sha256: sha256Of(bytes),
    });
    this.#tags.push(headers.get("etag") ?? "");
  }

  async complete(size: number): Promise<void> {
    const body = new TextEncoder().encode(completionBody(this.#tags));
    const { client, key } = this;
    try {
      const query = { uploadId: this.uploadId };
      await client.send({ method: "POST", key, query, body, sha256: sha256Of(body) });
    } catch (error) {
      // Perhaps the attempt before did it, and its answer was lost.
      if (!(error instanceof S3RefusedError) || error.refusal.code !== "NoSuchUpload") throw error;
      const { headers } = await client.send({ method: "HEAD", key });
      if (Number(headers.get("content-length")) !== size) throw error;
    }
  }

  async abort(): Promise<void> {
    const query = { uploadId: this.uploadId };
    await this.client.send({ method: "DELETE", key: this.key, query }, { attempts: 1 });
  }
}

async function takeBack(
  client: S3Client,
  key: string,
  inParts: InParts | undefined,
): Promise<void> {
  try {
    await inParts?.abort();
    await client.send({ method: "DELETE", key }, { attempts: 1 });
  } catch {
    // It is away, or has nothing of this any more; the sweep takes what is left.
  }
}

/** Counts and sums what passes. */
class Sums {
  readonly #sha256 = createHash("sha256");
  readonly #crc32c = new Crc32c();
  size = 0;

  async *through(
    contents: AsyncIterable<Uint8Array>,
    limitBytes: number,
  ): AsyncIterable<Uint8Array> {
    for await (const bytes of contents) {
      this.size += bytes.length;
      if (this.size > limitBytes) throw new BlobTooLargeError();
      this.#sha256.update(bytes);
      this.#crc32c.update(bytes);
      yield bytes;
    }
  }

  result(): { size: number; sha256: string; crc32c: string } {
    return {
      size: this.size,
      sha256: this.#sha256.digest("hex"),
      crc32c: this.#crc32c.toBase64(),
    };
  }
}

/** Equal parts, as some storages want them, and one that is last: the only one that may be empty. */
async function* partsOf(
  contents: AsyncIterable<Uint8Array>,
  partBytes: number,
): AsyncIterable<{ bytes: Uint8Array<ArrayBuffer>; isLast: boolean }> {
  let pieces: Uint8Array[] = [];
  let held = 0;
  for await (let bytes of contents) {
    while (held + bytes.length > partBytes) {
      const room = partBytes - held;
      pieces.push(bytes.subarray(0, room));
      yield { bytes: joined(pieces, partBytes), isLast: false };
      [pieces, held, bytes] = [[], 0, bytes.subarray(room)];
    }
    pieces.push(bytes);
    held += bytes.length;
  }
  yield { bytes: joined(pieces, held), isLast: true };
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** So large that the largest file has no more parts than an upload may have. */
function partBytesFor(limitBytes: number): number {
  return Math.max(PART_BYTES, Math.ceil(limitBytes / (MOST_PARTS - 1) / MIB) * MIB);
}

function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
