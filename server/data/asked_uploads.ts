/** Uploads that somebody requests, outside of the regular ones. Nothing is removed afterwards. */
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../shared/base/errors/to_error.ts";
import { MimeType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { reasonOf } from "../resources/graph/errors.ts";
import { fileAt, filesBelow, type FoundFile, isCapture, isInProgress } from "./capture_folder.ts";
import type { DataCloud } from "./data_cloud.ts";
import { placeInHome } from "./places.ts";
import { type Marks, uploadBytes, uploadFile } from "./upload.ts";

/** How the upload of a file, or of all files of a folder, went. */
export interface PathUploads {
  readonly filesUploaded: bigint;
  readonly filesFailed: bigint;
  readonly bytesUploaded: bigint;
  readonly bytesTotal: bigint;
  /** Of what was uploaded, as the cloud calls it. */
  readonly ids: string[];
}

export interface PathUploadsOptions {
  /** Undefined for a machine without one. */
  readonly cloud: DataCloud | undefined;
  /** Folder of the server's state; other paths begin there. */
  readonly home: string;
  /** Nothing outside of the captured data may be read. */
  readonly untrusted: boolean;
  readonly log: Logger;
}

/** Uploads a file, or all files below a folder. */
export function pathUploads({ cloud, home, untrusted, log }: PathUploadsOptions) {
  return async (path: string, marks: Marks, signal: AbortSignal): Promise<PathUploads> => {
    if (!cloud) throw noCloud();
    let place;
    try {
      place = placeInHome(path, home, untrusted);
    } catch (error) {
      throw new ConnectError(toError(error).message, Code.PermissionDenied);
    }
    return await uploadFromPath(place, marks, { cloud, log: log.child("data_manager"), signal });
  };
}

/**
 * One file after the other. A file that fails is logged and counted, and the others continue;
 * files of the capture are left to the regular uploads.
 *
 * @throws {ConnectError} NOT_FOUND when there is nothing at the path
 */
async function uploadFromPath(
  path: string,
  marks: Marks,
  { cloud, log, signal }: { cloud: DataCloud; log: Logger; signal: AbortSignal },
): Promise<PathUploads> {
  const counts = { filesUploaded: 0, filesFailed: 0, bytesUploaded: 0, bytesTotal: 0 };
  const ids: string[] = [];
  for await (const file of filesAt(path)) {
    signal.throwIfAborted();
    if (isCapture(file.path) || isInProgress(file.path)) {
      log.warn("a file of the capture is left to the regular uploads", { file: file.path });
      continue;
    }
    counts.bytesTotal += file.bytes;
    try {
      const id = await uploadFile(file, cloud, marks, signal);
      if (id) ids.push(id);
      counts.filesUploaded++;
      counts.bytesUploaded += file.bytes;
    } catch (error) {
      if (signal.aborted) throw error;
      counts.filesFailed++;
      log.error(`a file is not uploaded: ${reasonOf(toError(error))}`, {
        event: "file_not_uploaded",
        file: file.path,
      });
    }
  }
  return {
    filesUploaded: BigInt(counts.filesUploaded),
    filesFailed: BigInt(counts.filesFailed),
    bytesUploaded: BigInt(counts.bytesUploaded),
    bytesTotal: BigInt(counts.bytesTotal),
    ids,
  };
}

async function* filesAt(path: string): AsyncGenerator<FoundFile> {
  const isThere = await Deno.stat(path).then(() => true, () => false);
  if (!isThere) throw new ConnectError(`there is no file or folder ${path}`, Code.NotFound);
  const file = await fileAt(path);
  if (file) yield file;
  else yield* filesBelow(path);
}

const FORMS: Readonly<Record<MimeType, { mimeType: string; fileExtension: string }>> = {
  [MimeType.UNSPECIFIED]: { mimeType: "", fileExtension: "" },
  [MimeType.IMAGE_JPEG]: { mimeType: "image/jpeg", fileExtension: ".jpeg" },
  [MimeType.IMAGE_PNG]: { mimeType: "image/png", fileExtension: ".png" },
  [MimeType.APPLICATION_PCD]: { mimeType: "pointcloud/pcd", fileExtension: ".pcd" },
  [MimeType.VIDEO_MP4]: { mimeType: "video/mp4", fileExtension: ".mp4" },
};

/**
 * Uploads a binary and adds it to datasets.
 *
 * @throws {ConnectError} INVALID_ARGUMENT when there are no bytes; or what the cloud answered
 */
export async function uploadToDatasets(
  bytes: Uint8Array,
  mimeType: MimeType,
  marks: Marks,
  { cloud, signal }: { cloud: DataCloud; signal: AbortSignal },
): Promise<void> {
  if (bytes.length === 0) {
    throw new ConnectError(
      "binary_data is empty; there is nothing to upload",
      Code.InvalidArgument,
    );
  }
  const form = FORMS[mimeType] ?? FORMS[MimeType.UNSPECIFIED];
  await uploadBytes(bytes, { ...marks, ...form }, cloud, signal);
}

/** For calls that need a cloud. */
export function noCloud(): ConnectError {
  return new ConnectError(
    "this machine has no cloud that data could be uploaded to",
    Code.FailedPrecondition,
  );
}
