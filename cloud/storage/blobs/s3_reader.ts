import { BlobGoneError, type BlobReader, BlobStorageError } from "./blob_store.ts";
import { type S3Client, S3RefusedError } from "./s3_client.ts";

/** Bytes of one request: so many are in memory, and are sent for again when one is cut. */
const PIECE_BYTES = 2 * 1024 * 1024;

/** An object that is open for reading; it is requested piece by piece, as it is read. */
export class S3Reader implements BlobReader {
  #at = 0;
  #isClosed = false;

  private constructor(
    private readonly client: S3Client,
    private readonly key: string,
    /** Bytes. */
    readonly size: number,
    private piece: { readonly from: number; readonly bytes: Uint8Array<ArrayBuffer> },
  ) {}

  /** Undefined when it is not there. Reads the first piece, which is all of most images. */
  static async open(client: S3Client, key: string): Promise<S3Reader | undefined> {
    try {
      const { headers, body } = await client.send(pieceOf(key, 0));
      const size = Number(headers.get("content-range")?.split("/")[1] ?? body.length);
      return new S3Reader(client, key, size, { from: 0, bytes: body });
    } catch (error) {
      if (isMissing(error)) return undefined;
      if (!(error instanceof S3RefusedError) || error.refusal.status !== 416) throw error;
      // No byte can be asked of an object that has none.
      return new S3Reader(client, key, 0, { from: 0, bytes: new Uint8Array() });
    }
  }

  seek(offset: number): Promise<number> {
    this.#at = offset;
    return Promise.resolve(offset);
  }

  async read(into: Uint8Array): Promise<number | null> {
    if (this.#isClosed) throw new BlobStorageError("the object was closed");
    if (this.#at >= this.size) return null;
    const offset = this.#at - this.piece.from;
    if (offset < 0 || offset >= this.piece.bytes.length) {
      const { body } = await this.client.send(pieceOf(this.key, this.#at)).catch((error) => {
        if (!isMissing(error)) throw error;
        throw new BlobGoneError(`${this.key} was removed while it was read`, { cause: error });
      });
      if (body.length === 0) throw new BlobStorageError(`${this.client.place} gives no bytes`);
      this.piece = { from: this.#at, bytes: body };
    }
    const from = this.#at - this.piece.from;
    const bytes = this.piece.bytes.subarray(from, from + into.length);
    into.set(bytes);
    this.#at += bytes.length;
    return bytes.length;
  }

  get readable(): ReadableStream<Uint8Array<ArrayBuffer>> {
    return new ReadableStream({
      pull: async (controller) => {
        const bytes = new Uint8Array(64 * 1024);
        const count = await this.read(bytes);
        if (count !== null) return controller.enqueue(bytes.subarray(0, count));
        this.close();
        controller.close();
      },
      cancel: () => this.close(),
    }, { highWaterMark: 0 });
  }

  close(): void {
    this.#isClosed = true;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof S3RefusedError && error.refusal.status === 404 &&
    error.refusal.code !== "NoSuchBucket";
}

function pieceOf(key: string, from: number) {
  const range = `bytes=${from}-${from + PIECE_BYTES - 1}`;
  return { method: "GET", key, headers: { range } } as const;
}
