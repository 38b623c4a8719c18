import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import {
  DataSyncService,
  DataType,
  type SensorDataSchema,
  type UploadMetadata,
  UploadMetadataSchema,
} from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";

/** 2 January 2026, noon. */
export const NOON = Date.UTC(2026, 0, 2, 12);

type MetadataInit = MessageInitShape<typeof UploadMetadataSchema>;

/** Metadata of the sensor `climate`. For tests. */
export function sensorMetadata(partId: string, changes: MetadataInit = {}): UploadMetadata {
  return create(UploadMetadataSchema, {
    partId,
    componentType: "rdk:component:sensor",
    componentName: "climate",
    methodName: "Readings",
    type: DataType.TABULAR_SENSOR,
    ...changes,
  });
}

/** A reading that was requested `at` (milliseconds) and came 5 ms later. */
export function sensorData(
  at: number,
  readings: JsonObject,
): MessageInitShape<typeof SensorDataSchema> {
  return {
    metadata: { timeRequested: timestampFromMs(at), timeReceived: timestampFromMs(at + 5) },
    data: { case: "struct", value: { readings } },
  };
}

/** Uploads temperatures, one a second from `from` on. @returns the id of the upload */
export async function uploadTemperatures(
  client: Client<typeof DataSyncService>,
  partId: string,
  from: number,
  temperatures: readonly number[],
  changes: MetadataInit = {},
): Promise<string> {
  const { fileId } = await client.dataCaptureUpload({
    metadata: sensorMetadata(partId, changes),
    sensorContents: temperatures.map((temperature, index) =>
      sensorData(from + index * 1_000, { temperature })
    ),
  });
  return fileId;
}

/** Metadata of images of the camera `eye`. */
export function imageMetadata(partId: string, changes: MetadataInit = {}): UploadMetadata {
  return create(UploadMetadataSchema, {
    partId,
    componentType: "rdk:component:camera",
    componentName: "eye",
    methodName: "ReadImage",
    type: DataType.BINARY_SENSOR,
    fileExtension: ".jpeg",
    ...changes,
  });
}

/** Uploads one small image, taken `at` (milliseconds). @returns its id */
export async function uploadImage(
  client: Client<typeof DataSyncService>,
  partId: string,
  at: number,
  image: Uint8Array,
  changes: MetadataInit = {},
): Promise<string> {
  const time = timestampFromMs(at);
  const { binaryDataId } = await client.dataCaptureUpload({
    metadata: imageMetadata(partId, changes),
    sensorContents: [{
      metadata: { timeRequested: time, timeReceived: time },
      data: { case: "binary", value: image },
    }],
  });
  return binaryDataId;
}

/** The pieces of a `FileUpload`. */
export async function* filePieces(metadata: UploadMetadata, contents: Uint8Array, size = 1_000) {
  yield { uploadPacket: { case: "metadata" as const, value: metadata } };
  for (let at = 0; at < contents.length; at += size) {
    const data = contents.subarray(at, at + size);
    yield await Promise.resolve({
      uploadPacket: { case: "fileContents" as const, value: { data } },
    });
  }
}
