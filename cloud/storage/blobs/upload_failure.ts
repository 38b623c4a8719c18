import { Code } from "@connectrpc/connect";
import { FileError } from "../../../shared/base/files/fs_error.ts";
import { BlobStorageError, BlobTooLargeError } from "./blob_store.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/**
 * What is reported to the sender of an upload. Everything else comes back as it is.
 *
 * @param what `package`, `release`, `file`
 * @param flag that sets the limit
 */
export function uploadFailure(
  error: unknown,
  what: string,
  limitBytes: number,
  flag = "--package-limit",
): unknown {
  if (error instanceof BlobTooLargeError) {
    return refusal(
      "TOO_LARGE",
      { most: limitBytes },
      `the ${what} is larger than ${limitBytes} bytes, the most that this cloud takes ` +
        `(${flag} of machine-cloud serve); nothing was saved`,
      Code.ResourceExhausted,
    );
  }
  if (error instanceof BlobStorageError) {
    // Not UNAVAILABLE: machines would hold back their readings too, which need no storage.
    const message = `the cloud cannot store the ${what} just now; nothing was saved, send it again`;
    return refusal("STORAGE_AWAY", {}, message, Code.Aborted, error);
  }
  if (!(error instanceof FileError)) return error;
  const full = ["ENOSPC", "EDQUOT"].includes(error.code);
  const message = full
    ? "the cloud's disk is full; nothing was saved. Free space there and try again"
    : `the cloud cannot write the ${what}; nothing was saved. Check its disk`;
  const code = full ? Code.ResourceExhausted : Code.Unavailable;
  return refusal(full ? "DISK_FULL" : "STORAGE_AWAY", {}, message, code, error);
}
