/** Metadata and errors of grpc-js, from and to what the rest of the program has. */
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata, type ServiceError } from "@grpc/grpc-js";
import type { IncomingHttpHeaders } from "node:http2";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { addDetails, DETAILS } from "./grpc_status.ts";
import type { CallMetadata } from "./metadata.ts";

/** gRPC metadata as `Headers`; binary values (`-bin`) in base64, as they stand on the wire. */
export function headersFromMetadata(metadata: Metadata): Headers {
  const headers = new Headers();
  const map = metadata.getMap();
  for (const key of Object.keys(map)) {
    for (const value of metadata.get(key)) {
      headers.append(key, typeof value === "string" ? value : value.toString("base64"));
    }
  }
  return headers;
}

/** Metadata of a call as grpc-js takes it. */
export function grpcMetadata(metadata: CallMetadata): Metadata {
  if (metadata instanceof Metadata) return metadata;
  return Metadata.fromHttp2Headers(metadata.toHttp2Headers() as IncomingHttpHeaders);
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
