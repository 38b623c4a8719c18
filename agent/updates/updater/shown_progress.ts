import { Watched } from "../../../shared/workers/watched.ts";

/** What people see of an update besides its record. */
export class ShownProgress {
  /** Set at each change of what is shown, the record included. */
  readonly changed = new Watched(0);
  #error = "";
  #bytesDownloaded = 0;
  #totalBytes = 0;

  /** Why the last step failed; empty when it did not. */
  get error(): string {
    return this.#error;
  }

  get bytes(): { readonly bytesDownloaded: number; readonly totalBytes: number } {
    return { bytesDownloaded: this.#bytesDownloaded, totalBytes: this.#totalBytes };
  }

  /** @param error empty: nothing is wrong. */
  fail(error: string): void {
    if (error === this.#error) return;
    this.#error = error;
    this.changed.value++;
  }

  progressed(bytesDownloaded: number, totalBytes: number): void {
    this.#bytesDownloaded = bytesDownloaded;
    this.#totalBytes = totalBytes;
    this.changed.value++;
  }

  /** Another state begins. */
  clear(): void {
    this.#error = "";
    this.#bytesDownloaded = this.#totalBytes = 0;
  }
}
