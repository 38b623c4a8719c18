import { Metadata } from "@grpc/grpc-js";
import { Buffer } from "node:buffer";

/** Several values of it are sent one by one, as signallers expect them; `Headers` joins them. */
const HOSTS = "rpc-host";

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

/** The reverse of {@link headersFromMetadata}; header names that HTTP/2 owns are left out. */
export function metadataFromHeaders(headers: Headers): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of headers) {
    if (key.startsWith(":") || key === "content-type" || key === "grpc-timeout") continue;
    if (key === HOSTS) { for (const host of value.split(/, */)) metadata.add(key, host); }
    else metadata.add(key, key.endsWith("-bin") ? Buffer.from(value, "base64") : value);
  }
  return metadata;
}
