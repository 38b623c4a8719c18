import type { Buffer } from "node:buffer";
import { type ProxyHeader, readProxyHeader, startsWithProxyHeader } from "./proxy_protocol.ts";

/** What the first bytes of a connection say. */
export type FirstBytes =
  | { readonly kind: "incomplete" }
  | { readonly kind: "invalid"; readonly reason: string }
  | {
    readonly kind: "known";
    readonly http2: boolean;
    /** The client that a proxy speaks for; undefined without a PROXY header or for the proxy itself. */
    readonly proxied: { readonly address: string; readonly port: number } | undefined;
    /** Length of the PROXY header, which must not reach the protocol behind it. */
    readonly skip: number;
  };

const HTTP2_PREFACE = "PRI";

/**
 * Distinguishes HTTP/2 (its preface starts with `PRI`) from everything else, behind a PROXY header
 * if one is due. One that is not is an error: its sender may not speak for others.
 */
export function readFirstBytes(bytes: Buffer, proxyProtocol: boolean): FirstBytes {
  const proxy = proxyProtocol ? readProxyHeader(bytes) : withoutHeader(bytes);
  if (proxy.kind === "incomplete" || proxy.kind === "invalid") return proxy;
  const start = bytes.subarray(proxy.length, proxy.length + HTTP2_PREFACE.length).toString(
    "latin1",
  );
  if (start.length < HTTP2_PREFACE.length && HTTP2_PREFACE.startsWith(start)) {
    return { kind: "incomplete" };
  }
  return {
    kind: "known",
    http2: start === HTTP2_PREFACE,
    proxied: proxy.kind === "proxied" ? { address: proxy.address, port: proxy.port } : undefined,
    skip: proxy.length,
  };
}

function withoutHeader(bytes: Buffer): ProxyHeader {
  switch (startsWithProxyHeader(bytes)) {
    case true:
      return { kind: "invalid", reason: "it sends a PROXY header and is no trusted balancer" };
    case false:
      return { kind: "local", length: 0 };
    case undefined:
      return { kind: "incomplete" };
  }
}
