import { BlobStorageError } from "./blob_store.ts";
import { type S3Client, S3RefusedError } from "./s3_client.ts";

const KEY = "owner";

/**
 * Makes sure that a place belongs to one cloud only: another one, such as a copy for trials, would
 * sweep away the files of the first. The first that comes leaves its id there.
 *
 * @throws {ForeignPlaceError}, {S3RefusedError}, {BlobStorageError}
 */
export async function claimPlace(
  client: S3Client,
  ownId: string,
  options: { readonly attempts?: number } = {},
): Promise<void> {
  let owner = await readOwner(client, options);
  if (owner === undefined) {
    const body = new TextEncoder().encode(ownId);
    const sha256 = new Uint8Array(await crypto.subtle.digest("SHA-256", body)).toHex();
    await client.send({ method: "PUT", key: KEY, body, sha256 }, options);
    owner = await readOwner(client, options);
  }
  if (owner !== ownId) throw new ForeignPlaceError(client.place);
}

/** The place holds the files of another cloud. */
export class ForeignPlaceError extends BlobStorageError {
  constructor(place: string) {
    super(
      `--blob-store: ${place} holds the files of another cloud, which this one would take for ` +
        "leftovers. Name another bucket or prefix; only when the other cloud is gone permanently, " +
        `delete the object ${place}${KEY}`,
    );
  }
}

async function readOwner(
  client: S3Client,
  options: { readonly attempts?: number },
): Promise<string | undefined> {
  try {
    const { body } = await client.send({ method: "GET", key: KEY }, options);
    return new TextDecoder().decode(body).trim();
  } catch (error) {
    const isMissing = error instanceof S3RefusedError && error.refusal.status === 404 &&
      error.refusal.code !== "NoSuchBucket";
    if (isMissing) return undefined;
    throw error;
  }
}
