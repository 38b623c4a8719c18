import type { Blob, BlobReader, BlobStore } from "./blob_store.ts";

/**
 * A store that took the place of another one: what comes goes to the new one, and what the older
 * one holds stays there until it is removed.
 */
export class MovedBlobStore implements BlobStore {
  constructor(private readonly current: BlobStore, private readonly older: BlobStore) {}

  async receive(
    id: string,
    contents: AsyncIterable<Uint8Array>,
    limitBytes: number,
  ): Promise<Blob> {
    const blob = await this.current.receive(id, contents, limitBytes);
    // What a killed attempt left there would be read in its place.
    await this.older.remove(id);
    return blob;
  }

  async read(id: string): Promise<BlobReader | undefined> {
    return await this.older.read(id) ?? await this.current.read(id);
  }

  async remove(id: string): Promise<void> {
    await this.older.remove(id);
    await this.current.remove(id);
  }

  async sweep(isKnown: (id: string) => Promise<boolean>, now: Date): Promise<number> {
    const removed = await this.older.sweep(isKnown, now);
    return removed + await this.current.sweep(isKnown, now);
  }
}
