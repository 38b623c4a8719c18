import { Code, ConnectError } from "@connectrpc/connect";
import { canonicalJson } from "../../../shared/base/json/json.ts";
import {
  DataType,
  MimeType,
  type SensorMetadata,
  type UploadMetadata,
} from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import type { IngestedDataType } from "./ingested.ts";
import { parametersToJson } from "./parameters.ts";
import type { CaptureMethod } from "./sources.ts";
import { microseconds } from "./times.ts";
import type { ExactTimes } from "./upload_identity.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What an upload says of itself, checked. */
export interface Capture extends CaptureMethod {
  readonly partId: string;
  readonly dataType: IngestedDataType;
  /** JSON object. */
  readonly parameters: string;
  /** Each once, in order. */
  readonly tags: readonly string[];
  readonly datasetIds: readonly string[];
  readonly fileName: string;
  /** With its dot; empty: none. */
  readonly fileExtension: string;
  readonly mimeType: string;
  readonly fileTimes: ExactTimes;
}

const LONGEST_NAME = 1_024;
const LONGEST_PARAMETERS = 64 * 1024;
const MOST_TAGS = 200;

/**
 * Checks the metadata of an upload.
 *
 * @throws {ConnectError} INVALID_ARGUMENT with the field; a machine gives such an upload up.
 */
export function readCapture(metadata: UploadMetadata | undefined): Capture {
  if (!metadata) throw invalid("metadata", "it is missing");
  const parameters = canonicalJson(parametersToJson(metadata.methodParameters));
  if (parameters.length > LONGEST_PARAMETERS) {
    throw invalid("metadata.method_parameters", `they are longer than ${LONGEST_PARAMETERS} bytes`);
  }
  const name = (field: string, value: string) => {
    if (value.length <= LONGEST_NAME) return value;
    throw invalid(`metadata.${field}`, `it is longer than ${LONGEST_NAME} characters`);
  };
  const texts = (field: string, values: readonly string[]) => {
    if (values.length > MOST_TAGS) {
      throw invalid(`metadata.${field}`, `there are more than ${MOST_TAGS}`);
    }
    for (const value of values) name(field, value);
    return [...new Set(values.filter((value) => value !== ""))].sort();
  };
  const fileName = name("file_name", metadata.fileName);
  const fileExtension = withDot(name("file_extension", metadata.fileExtension)) ||
    extensionOf(fileName);
  return {
    partId: metadata.partId,
    componentType: name("component_type", metadata.componentType),
    componentName: name("component_name", metadata.componentName),
    methodName: name("method_name", metadata.methodName),
    dataType: dataTypeOf(metadata.type),
    parameters,
    tags: texts("tags", metadata.tags),
    datasetIds: texts("dataset_ids", metadata.datasetIds),
    fileName,
    fileExtension,
    mimeType: name("mime_type", metadata.mimeType),
    fileTimes: [metadata.fileCreateTime, metadata.fileModifyTime],
  };
}

/** When something was requested and came, microseconds. */
export interface CaptureTimes {
  readonly exact: ExactTimes;
  readonly requestedUs: number;
  readonly receivedUs: number;
}

/**
 * The times of a capture. Where a machine gives none, or one that no clock shows, the other one
 * stands for it, or `now`: its data is worth more than its clock.
 */
export function readTimes(metadata: SensorMetadata | undefined, now: Date): CaptureTimes {
  const { timeRequested, timeReceived } = metadata ?? {};
  const requested = timeRequested && microseconds(timeRequested);
  const received = timeReceived && microseconds(timeReceived);
  const fallback = now.getTime() * 1_000;
  return {
    exact: [timeRequested, timeReceived],
    requestedUs: requested ?? received ?? fallback,
    receivedUs: received ?? requested ?? fallback,
  };
}

/** The time of a file: when it was changed, else made, else when it came. */
export function fileTimes({ fileTimes: exact }: Capture, now: Date): CaptureTimes {
  const [createTime, modifyTime] = exact;
  const created = createTime && microseconds(createTime);
  const modified = modifyTime && microseconds(modifyTime);
  const time = modified ?? created ?? now.getTime() * 1_000;
  return { exact, requestedUs: created ?? time, receivedUs: time };
}

function dataTypeOf(type: DataType): IngestedDataType {
  switch (type) {
    case DataType.TABULAR_SENSOR:
      return "tabular";
    case DataType.BINARY_SENSOR:
      return "binary";
    case DataType.FILE:
      return "file";
    default:
      return "unspecified";
  }
}

function withDot(extension: string): string {
  return extension === "" || extension.startsWith(".") ? extension : `.${extension}`;
}

function extensionOf(fileName: string): string {
  return /[^/\\](\.[A-Za-z0-9]{1,16})$/.exec(fileName)?.[1] ?? "";
}

/** What files with an extension are. */
const TYPES: Readonly<Record<string, string>> = {
  ".avi": "video/x-msvideo",
  ".csv": "text/csv",
  ".gif": "image/gif",
  ".gz": "application/gzip",
  ".jpeg": "image/jpeg",
  ".jpg": "image/jpeg",
  ".json": "application/json",
  ".log": "text/plain",
  ".mp3": "audio/mpeg",
  ".mp4": "video/mp4",
  ".pcd": "pointcloud/pcd",
  ".pdf": "application/pdf",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
  ".wav": "audio/wav",
  ".webp": "image/webp",
  ".xml": "application/xml",
};

const OLD_TYPES: Readonly<Partial<Record<MimeType, string>>> = {
  [MimeType.IMAGE_JPEG]: "image/jpeg",
  [MimeType.IMAGE_PNG]: "image/png",
  [MimeType.APPLICATION_PCD]: "pointcloud/pcd",
  [MimeType.VIDEO_MP4]: "video/mp4",
};

/** What the contents are: as the upload says, else by its extension. */
export function mimeTypeOf(capture: Capture, metadata?: SensorMetadata): string {
  return capture.mimeType || OLD_TYPES[metadata?.mimeType ?? MimeType.UNSPECIFIED] ||
    TYPES[capture.fileExtension.toLowerCase()] || "application/octet-stream";
}

/** For what only programs get wrong; what a person can, has a reason: see {@link refusal}. */
export function invalid(path: string, problem: string): ConnectError {
  return new ConnectError(`${path}: ${problem}`, Code.InvalidArgument);
}

export function tooMany(path: string, most: number): ConnectError {
  return refusal(
    "TOO_MANY",
    { most },
    `${path}: there are more than ${most}`,
    Code.InvalidArgument,
  );
}

export function tooLong(path: string, most: number, unit = "characters"): ConnectError {
  const message = `${path}: it is longer than ${most} ${unit}`;
  return refusal("TOO_LONG", { most }, message, Code.InvalidArgument);
}
