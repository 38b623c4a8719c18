import { Code } from "@connectrpc/connect";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Of all places, those that one organisation may have; the others' need some. */
const SHARE = 3 / 4;

/**
 * Uploads at the same moment, each of which holds a file open. A slow one keeps its place for long:
 * whoever takes all that one organisation may have leaves some for the others.
 */
export class UploadPlaces {
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** @param what it is that is uploaded, in the plural, for messages */
  constructor(private readonly most: number, private readonly what: string) {}

  /**
   * @param isOwn one of the cloud itself, which does not wait for those of callers
   * @returns to be called once, when the upload has ended
   * @throws {ConnectError} RESOURCE_EXHAUSTED
   */
  take(orgId: string, isOwn = false): () => void {
    const taken = this.#taken.get(orgId) ?? 0;
    const ofOne = Math.floor(this.most * SHARE);
    if (!isOwn && (this.#all >= this.most || taken >= ofOne)) {
      const [count, whose] = taken >= ofOne ? [taken, " of this organisation"] : [this.#all, ""];
      throw refusal(
        "TRY_LATER",
        {},
        `${count} ${this.what}${whose} are being uploaded; try again when one of them is done`,
        Code.ResourceExhausted,
      );
    }
    this.#all++;
    this.#taken.set(orgId, taken + 1);
    return () => {
      this.#all--;
      const left = (this.#taken.get(orgId) ?? 1) - 1;
      if (left > 0) this.#taken.set(orgId, left);
      else this.#taken.delete(orgId);
    };
  }
}
