/** One file on its way to the cloud. */
import { extname } from "node:path";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { decodeCapture } from "../../shared/capture_file/decode.ts";
import {
  DataSyncService,
  DataType,
  type FileUploadRequestSchema,
  type SensorData,
  SensorDataSchema,
  type StreamingDataCaptureUploadRequestSchema,
  type UploadMetadata,
  UploadMetadataSchema,
} from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { MOST_VALUES, VALUE_BYTES } from "../../shared/rpc/message_values.ts";
import { type FoundFile, isCapture } from "./capture_folder.ts";
import type { DataCloud } from "./data_cloud.ts";

/** Binaries larger than this go in pieces. Bytes. */
const STREAM_ABOVE_BYTES = 1_000_000;
const PIECE_BYTES = 64 * 1024;
/** Readings of a message take no more, so that it never has more values than a cloud takes. */
const MESSAGE_BYTES = MOST_VALUES * VALUE_BYTES;
/** For the answer to one message. Milliseconds. */
const CALL_TIMEOUT_MS = 60_000;
/** For a file in pieces: this and a second for each {@link SLOWEST_BYTES_PER_S}. Milliseconds. */
const STREAM_TIMEOUT_MS = 120_000;
const SLOWEST_BYTES_PER_S = 16 * 1024;

/** The file itself is wrong: no further attempt can help. */
export class WrongFileError extends Error {
  override readonly name = "WrongFileError";
}

/**
 * Uploads a file; resolves when the cloud has answered that it keeps it.
 *
 * @throws {WrongFileError} for a capture file that cannot be read
 * @throws {ConnectError} what the cloud answered
 */
export async function upload(
  file: FoundFile,
  cloud: DataCloud,
  tags: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (isCapture(file.path)) await uploadCapture(file, cloud, signal);
  else await uploadFile(file, cloud, { tags, datasetIds: [] }, signal);
}

async function uploadCapture(
  { path }: FoundFile,
  cloud: DataCloud,
  signal: AbortSignal,
): Promise<void> {
  const { metadata: head, readings, isTorn } = decodeCapture(await Deno.readFile(path));
  if (!head) throw new WrongFileError("it does not begin as a capture file");
  if (isTorn) throw new WrongFileError("it is damaged: not all of it can be read");
  const [first] = readings;
  if (!first) throw new WrongFileError("it holds no reading");
  const metadata = create(UploadMetadataSchema, {
    partId: cloud.partId,
    componentType: head.componentType,
    componentName: head.componentName,
    methodName: head.methodName,
    type: head.type,
    methodParameters: head.methodParameters,
    fileExtension: head.fileExtension,
    tags: head.tags,
    mimeType: head.mimeType,
  });
  if (first.data.case === "binary" && first.data.value.length > STREAM_ABOVE_BYTES) {
    if (readings.length > 1) throw new WrongFileError("it holds more than one large binary");
    await cloud.client(DataSyncService).streamingDataCaptureUpload(
      binaryInPieces(metadata, first, first.data.value),
      { signal, timeoutMs: timeLimitMs(first.data.value.length) },
    );
    return;
  }
  const isTabular = first.data.case === "struct";
  for (const sensorContents of isTabular ? inMessages(readings) : [[...readings]]) {
    await cloud.client(DataSyncService).dataCaptureUpload(
      { metadata, sensorContents },
      { signal, timeoutMs: CALL_TIMEOUT_MS },
    );
  }
}

/** The same readings give the same messages: what the cloud has of them already, it recognises. */
function* inMessages(readings: readonly SensorData[]): Generator<SensorData[]> {
  let some: SensorData[] = [];
  let size = 0;
  for (const reading of readings) {
    const { length } = toBinary(SensorDataSchema, reading);
    if (some.length > 0 && size + length > MESSAGE_BYTES) {
      yield some;
      [some, size] = [[], 0];
    }
    some.push(reading);
    size += length;
  }
  yield some;
}

async function* binaryInPieces(
  uploadMetadata: UploadMetadata,
  { metadata: sensorMetadata }: SensorData,
  bytes: Uint8Array,
): AsyncGenerator<MessageInitShape<typeof StreamingDataCaptureUploadRequestSchema>> {
  const about = { uploadMetadata, ...(sensorMetadata && { sensorMetadata }) };
  yield { uploadPacket: { case: "metadata", value: about } };
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const value = bytes.subarray(at, at + PIECE_BYTES);
    yield { uploadPacket: { case: "data", value } };
  }
}

/** What data is marked with in the cloud. */
export interface Marks {
  readonly tags: readonly string[];
  readonly datasetIds: readonly string[];
}

/**
 * Uploads a file that was not captured, with the marks of the folders it lies in too.
 *
 * @returns the id that the cloud keeps it under
 */
export async function uploadFile(
  file: FoundFile,
  cloud: DataCloud,
  marks: Marks,
  signal: AbortSignal,
): Promise<string> {
  const { path, modifiedMs, createdMs, bytes } = file;
  const inPath = path.split(/[/\\]/).slice(0, -1);
  const named = (prefix: string) =>
    inPath.filter((part) => part.startsWith(prefix) && part.length > prefix.length)
      .map((part) => part.slice(prefix.length));
  const metadata = create(UploadMetadataSchema, {
    partId: cloud.partId,
    type: DataType.FILE,
    fileName: path,
    fileExtension: extname(path),
    fileCreateTime: timestampFromMs(Math.floor(createdMs)),
    fileModifyTime: timestampFromMs(Math.floor(modifiedMs)),
    tags: [...new Set([...marks.tags, ...named("tag=")])],
    datasetIds: [...new Set([...marks.datasetIds, ...named("dataset=")])],
  });
  using handle = await Deno.open(path, { read: true });
  const answer = await cloud.client(DataSyncService).fileUpload(
    fileInPieces(metadata, handle),
    { signal, timeoutMs: timeLimitMs(bytes) },
  );
  return answer.binaryDataId || answer.fileId;
}

/** Uploads bytes that are in no file; the same bytes are kept once, with the marks of all times. */
export async function uploadBytes(
  bytes: Uint8Array,
  about: Marks & { readonly mimeType: string; readonly fileExtension: string },
  cloud: DataCloud,
  signal: AbortSignal,
): Promise<void> {
  const { tags, datasetIds, mimeType, fileExtension } = about;
  const metadata = create(UploadMetadataSchema, {
    partId: cloud.partId,
    type: DataType.FILE,
    mimeType,
    fileExtension,
    tags: [...tags],
    datasetIds: [...datasetIds],
  });
  await cloud.client(DataSyncService).fileUpload(
    bytesInPieces(metadata, bytes),
    { signal, timeoutMs: timeLimitMs(bytes.length) },
  );
}

async function* fileInPieces(
  metadata: UploadMetadata,
  file: Deno.FsFile,
): AsyncGenerator<MessageInitShape<typeof FileUploadRequestSchema>> {
  yield { uploadPacket: { case: "metadata", value: metadata } };
  for (;;) {
    const piece = new Uint8Array(PIECE_BYTES);
    const count = await file.read(piece);
    if (count === null) return;
    yield { uploadPacket: { case: "fileContents", value: { data: piece.subarray(0, count) } } };
  }
}

async function* bytesInPieces(
  metadata: UploadMetadata,
  bytes: Uint8Array,
): AsyncGenerator<MessageInitShape<typeof FileUploadRequestSchema>> {
  yield { uploadPacket: { case: "metadata", value: metadata } };
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    const data = bytes.subarray(at, at + PIECE_BYTES);
    yield { uploadPacket: { case: "fileContents", value: { data } } };
  }
}

function timeLimitMs(bytes: number): number {
  return Math.ceil(STREAM_TIMEOUT_MS + bytes / SLOWEST_BYTES_PER_S * 1_000);
}
