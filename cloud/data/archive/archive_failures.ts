import { Code } from "@connectrpc/connect";
import { refusal } from "../../../shared/rpc/reasons.ts";
import { BlobStorageError } from "../../storage/blobs/blob_store.ts";
import { ArchiveDamagedError, ArchiveGoneError } from "./archive_files.ts";

/** What a caller sees when old readings cannot be read. Everything else comes back as it is. */
export function toReadFailure(error: unknown): unknown {
  if (error instanceof AggregateError) return toReadFailure(error.errors[0]);
  if (error instanceof ArchiveDamagedError) {
    return refusal("FILE_GONE", { id: error.id }, error.message, Code.DataLoss, error);
  }
  if (error instanceof ArchiveGoneError || error instanceof BlobStorageError) {
    const message = "the cloud cannot read old readings just now; try again";
    return refusal("STORAGE_AWAY", {}, message, Code.Unavailable, error);
  }
  return error;
}
