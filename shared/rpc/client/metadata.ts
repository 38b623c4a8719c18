import { Code, ConnectError } from "@connectrpc/connect";

/** Header fields as HTTP/2 libraries take them. */
export type Http2Fields = Record<string, number | string | string[] | undefined>;

/** Metadata of a call to be made; binary values (`-bin`) in base64, as they stand on the wire. */
export interface CallMetadata {
  toHttp2Headers(): Http2Fields;
}

/** Several values of it are sent one by one, as signallers expect them; `Headers` joins them. */
const HOSTS = "rpc-host";

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Custom-Metadata" */
const VALUE = /^[\t\x20-\x7e]*$/;

/**
 * `Headers` as metadata; header names that HTTP/2 or gRPC own are left out.
 *
 * @throws {ConnectError} INVALID_ARGUMENT for a value that gRPC does not allow.
 */
export function metadataFromHeaders(headers: Headers): CallMetadata {
  const fields: Record<string, string | string[]> = {};
  for (const [key, value] of headers) {
    if (key.startsWith(":") || key === "content-type" || key === "grpc-timeout") continue;
    if (!VALUE.test(value)) {
      throw new ConnectError(
        `the value of the metadata key ${key} has letters that gRPC does not allow`,
        Code.InvalidArgument,
      );
    }
    fields[key] = key === HOSTS || key.endsWith("-bin") ? value.split(/, */) : value;
  }
  return { toHttp2Headers: () => fields };
}
