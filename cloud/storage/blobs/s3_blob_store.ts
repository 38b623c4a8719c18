import { letOthersWork } from "../../../shared/base/time/other_work.ts";
import { type Blob, type BlobReader, type BlobStore, ORPHAN_AFTER_MS } from "./blob_store.ts";
import { type Listed, type ListPage, readObjects, readUploads } from "./s3_answers.ts";
import type { S3Client } from "./s3_client.ts";
import { S3Reader } from "./s3_reader.ts";
import { uploadToS3 } from "./s3_upload.ts";

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Rows looked for before calls get their turn. */
const ROWS_AT_ONCE = 50;

/**
 * Blobs as objects of a bucket, `FOLDER/ID` below the prefix. An object appears whole or not at
 * all. Their ages are measured by the clock of the storage; it refuses requests from one that
 * differs by more than a quarter of an hour.
 */
export class S3BlobStore implements BlobStore {
  readonly #underWay = new Set<string>();

  /**
   * @param folder part of the keys: `data-files`
   * @param claim resolves when the place is this cloud's; called before anything is written
   * @param pageSize entries of a list that are requested at once; S3 gives 1000 at most
   */
  constructor(
    private readonly client: S3Client,
    private readonly folder: string,
    private readonly claim: () => Promise<void>,
    private readonly pageSize = 1_000,
  ) {}

  async receive(
    id: string,
    contents: AsyncIterable<Uint8Array>,
    limitBytes: number,
  ): Promise<Blob> {
    await this.claim();
    this.#underWay.add(id);
    try {
      return await uploadToS3(this.client, { id, key: this.#key(id), contents, limitBytes });
    } finally {
      this.#underWay.delete(id);
    }
  }

  async read(id: string): Promise<BlobReader | undefined> {
    return await S3Reader.open(this.client, this.#key(id));
  }

  /** Where whoever knows it gets the blob. @param seconds how long, a week at most */
  async addressOf(id: string, seconds: number): Promise<string> {
    return await this.client.addressOf(this.#key(id), seconds);
  }

  /** Tries once; what is away now goes with the next sweep. */
  async remove(id: string): Promise<void> {
    await this.#delete({ key: this.#key(id) }).catch(() => undefined);
  }

  /** All that are there. @throws {BlobStorageError} */
  async *ids(): AsyncIterable<string> {
    for await (const { id } of this.#list(this.#pages("max-keys"), readObjects)) yield id;
  }

  /** All that are there, by id, with their bytes. @throws {BlobStorageError} */
  async *sizes(): AsyncIterable<{ readonly id: string; readonly size: number }> {
    for await (const { id, entry } of this.#list(this.#pages("max-keys"), readObjects)) {
      yield { id, size: entry.size };
    }
  }

  /** @throws {BlobStorageError} */
  async sweep(isKnown: (id: string) => Promise<boolean>, now: Date): Promise<number> {
    await this.claim();
    const isOld = ({ atMs }: Listed) => now.getTime() - atMs >= ORPHAN_AFTER_MS;
    let removed = 0;
    let looked = 0;
    for await (const { entry, id } of this.#list(this.#pages("max-keys"), readObjects)) {
      if (++looked % ROWS_AT_ONCE === 0) await letOthersWork();
      if (this.#underWay.has(id) || !isOld(entry) || await isKnown(id)) continue;
      await this.#delete({ key: this.#key(id) });
      removed++;
    }
    for await (const { entry, id } of this.#list(this.#pages("max-uploads"), readUploads)) {
      if (this.#underWay.has(id) || !isOld(entry)) continue;
      await this.#delete({ key: this.#key(id), query: { uploadId: entry.uploadId } });
      removed++;
    }
    return removed;
  }

  /** What there is of this store, by pages; names that it did not give are left out. */
  async *#list(
    query: Readonly<Record<string, string>>,
    read: (body: string) => ListPage,
  ): AsyncIterable<{ entry: Listed; id: string }> {
    let next: Readonly<Record<string, string>> | undefined = {};
    while (next) {
      const prefix = this.client.keyOf(`${this.folder}/`);
      const { body } = await this.client.send({
        method: "GET",
        key: "",
        query: { ...query, prefix, ...next },
      });
      const page = read(new TextDecoder().decode(body));
      for (const entry of page.entries) {
        const id = ID.exec(entry.key)?.[0];
        if (id !== undefined && entry.key === `${prefix}${id}`) yield { entry, id };
      }
      next = page.next;
    }
  }

  #pages(size: "max-keys" | "max-uploads"): Readonly<Record<string, string>> {
    const kind = size === "max-keys" ? { "list-type": "2" } : { uploads: "" };
    return { ...kind, [size]: String(this.pageSize) };
  }

  async #delete(request: { key: string; query?: Readonly<Record<string, string>> }): Promise<void> {
    await this.client.send({ method: "DELETE", ...request }, { attempts: 1 });
  }

  #key(id: string): string {
    return `${this.folder}/${id}`;
  }
}
