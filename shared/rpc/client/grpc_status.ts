import { create, toBinary } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { type Status, StatusSchema } from "../../gen/google/rpc/status_pb.ts";

/** The trailer that carries a status with its details. */
export const DETAILS = "grpc-status-details-bin";

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

/** Gives an error the details of the status that reported it. */
export function addDetails(error: ConnectError, status: Status): void {
  for (const { typeUrl, value } of status.details) {
    error.details.push({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value });
  }
}
