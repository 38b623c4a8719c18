/** Metadata of calls as it stands in frames. Binary values (`-bin`) travel in base64. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Metadata } from "../../gen/proto/rpc/webrtc/v1/grpc_pb.ts";
import type { Http2Fields } from "../client/metadata.ts";

/** Values by key; keys in lower case. */
export type CallMetadata = ReadonlyMap<string, readonly string[]>;

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Custom-Metadata" */
const KEY = /^[0-9a-z_.-]+$/;
const VALUE = /^[\t\x20-\x7e]*$/;
const NONE: CallMetadata = new Map();

/** What a caller sent. @throws {ConnectError} INVALID_ARGUMENT for what gRPC doesn't allow. */
export function readMetadata(metadata: Metadata | undefined): CallMetadata {
  if (!metadata) return NONE;
  const read = new Map<string, readonly string[]>();
  for (const [name, { values }] of Object.entries(metadata.md)) {
    const key = name.toLowerCase();
    // HTTP/2's own names, which clients that turn their HTTP requests into frames may leave in.
    if (key.startsWith(":")) continue;
    if (!KEY.test(key)) throw invalid(`the metadata key ${JSON.stringify(name.slice(0, 100))}`);
    if (!values.every((value) => VALUE.test(value))) {
      throw invalid(`the value of the metadata key ${key}`);
    }
    read.set(key, [...read.get(key) ?? [], ...values]);
  }
  return read;
}

function invalid(what: string): ConnectError {
  return new ConnectError(`${what} has letters that gRPC does not allow`, Code.InvalidArgument);
}

export function headersFrom(metadata: CallMetadata): Headers {
  const headers = new Headers();
  for (const [key, values] of metadata) for (const value of values) headers.append(key, value);
  return headers;
}

/** What came with an answer; what `Headers` doesn't take is left out. */
export function appendAnswerMetadata(target: Headers, metadata: Metadata | undefined): void {
  for (const [key, { values }] of Object.entries(metadata?.md ?? {})) {
    for (const value of values) {
      try {
        target.append(key, value);
      } catch {
        // The answer counts, whatever its metadata.
      }
    }
  }
}

/** `Headers` as a frame holds them; undefined when there are none. */
export function metadataOf(headers: Headers | undefined) {
  if (!headers) return undefined;
  const md: Record<string, { values: string[] }> = {};
  let some = false;
  for (const [key, value] of headers) {
    some = true;
    // `Headers` joins the values of a key; base64 has no comma.
    md[key] = { values: key.endsWith("-bin") ? value.split(/,\s*/) : [value] };
  }
  return some ? { md } : undefined;
}

/** The metadata of a call to be made, as a frame holds it; undefined when there is none. */
export function metadataOfHttp2(headers: Http2Fields) {
  const md: Record<string, { values: string[] }> = {};
  for (const [key, value] of Object.entries(headers)) {
    if (value !== undefined) md[key] = { values: [value].flat().map(String) };
  }
  return Object.keys(md).length === 0 ? undefined : { md };
}
