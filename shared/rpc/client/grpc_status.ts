import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ServiceError } from "@grpc/grpc-js";
import { type Status, StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { headersFromMetadata } from "./metadata.ts";

const DETAILS = "grpc-status-details-bin";

/** A caller's error as the message that carries its details. */
export function statusMessage(error: ConnectError): Status {
  const details = error.details.map((detail) =>
    "desc" in detail
      ? {
        typeUrl: `type.googleapis.com/${detail.desc.typeName}`,
        value: toBinary(detail.desc, create(detail.desc, detail.value)),
      }
      : { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value }
  );
  return create(StatusSchema, { code: error.code, message: error.rawMessage, details });
}

/** Gives an error the details of the status it was told by. */
export function addDetails(error: ConnectError, status: Status): void {
  for (const { typeUrl, value } of status.details) {
    error.details.push({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value });
  }
}

/** What a grpc-js client reports, as a `ConnectError` with its details. */
export function connectErrorFromGrpc(error: ServiceError): ConnectError {
  const result = new ConnectError(
    error.details || error.message,
    (error.code as number | undefined) ?? Code.Unknown,
    error.metadata && headersFromMetadata(error.metadata),
    undefined,
    error,
  );
  const details = error.metadata?.get(DETAILS)[0];
  if (details instanceof Uint8Array) addDetails(result, fromBinary(StatusSchema, details));
  return result;
}
