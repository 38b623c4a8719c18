import { join } from "node:path";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import type { BlobReader, BlobStore } from "../../storage/blobs/blob_store.ts";
import type { ObjectStorage } from "./query_form.ts";

const FOLDER = "data-archive";

/** Reads files of old readings in a process that runs queries. */
export class ArchivePlaces implements Pick<BlobStore, "read"> {
  /** Where files are besides the data folder. */
  objects: ObjectStorage | undefined;

  constructor(private readonly dataDir: string) {}

  async read(id: string): Promise<BlobReader | undefined> {
    try {
      return await Deno.open(join(this.dataDir, FOLDER, id), { read: true });
    } catch (error) {
      if (fsErrorCode(error) !== "ENOENT") throw error;
    }
    const { objects } = this;
    if (!objects) return undefined;
    const [{ S3Client }, { S3Reader }] = await Promise.all([
      import("../../storage/blobs/s3_client.ts"),
      import("../../storage/blobs/s3_reader.ts"),
    ]);
    const { secretAccessKey, sessionToken, ...settings } = objects;
    const client = new S3Client({
      ...settings,
      secretAccessKey: new Secret(secretAccessKey),
      sessionToken: sessionToken === undefined ? undefined : new Secret(sessionToken),
    }, systemClock);
    return await S3Reader.open(client, `${FOLDER}/${id}`);
  }
}
