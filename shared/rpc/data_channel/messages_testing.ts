/** Encoded requests of the methods that tests serve, and their answers read. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  FileUploadRequestSchema,
  FileUploadResponseSchema,
} from "../../gen/viam/app/datasync/v1/data_sync_pb.ts";
import {
  EchoBiDiRequestSchema,
  EchoMultipleRequestSchema,
  EchoRequestSchema,
  EchoResponseSchema,
} from "../../gen/viam/component/testecho/v1/testecho_pb.ts";
import { patterned } from "./testing.ts";

export const ECHO = "/viam.component.testecho.v1.TestEchoService/Echo";
export const MULTIPLE = "/viam.component.testecho.v1.TestEchoService/EchoMultiple";
export const BIDI = "/viam.component.testecho.v1.TestEchoService/EchoBiDi";
export const UPLOAD = "/viam.app.datasync.v1.DataSyncService/FileUpload";

export const echo = (message: string) =>
  toBinary(EchoRequestSchema, create(EchoRequestSchema, { message }));
export const multiple = (message: string) =>
  toBinary(EchoMultipleRequestSchema, create(EchoMultipleRequestSchema, { message }));
export const bidi = (message: string) =>
  toBinary(EchoBiDiRequestSchema, create(EchoBiDiRequestSchema, { message }));
export const upload = (length: number) =>
  toBinary(
    FileUploadRequestSchema,
    create(FileUploadRequestSchema, {
      uploadPacket: { case: "fileContents", value: { data: patterned(length) } },
    }),
  );
export const echoed = ({ messages }: { messages: Uint8Array[] }) =>
  messages.map((bytes) => fromBinary(EchoResponseSchema, bytes).message);
export const uploaded = ({ messages }: { messages: Uint8Array[] }) =>
  messages.map((bytes) => fromBinary(FileUploadResponseSchema, bytes).binaryDataId);
