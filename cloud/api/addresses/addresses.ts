import { isLoopbackHost } from "../../../shared/base/net/loopback.ts";
import { UsageError } from "../../../shared/base/flags/flags.ts";

export interface ListenAddress {
  /** Empty: every address of this host. */
  readonly hostname: string;
  readonly port: number;
}

/** `127.0.0.1:8080`, `[::1]:8080`, `:8080`; port 0 takes a free one. */
export function parseListenAddress(text: string, option = "--listen"): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65535) {
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} is no address; write HOST:PORT, for example 0.0.0.0:8080`,
    );
  }
  return { hostname: match[1] ?? match[2] ?? "", port };
}

/**
 * `https://cloud.example.com`: scheme, host and port only. Gives it back without a last slash.
 *
 * @param option what the address was given by, for the error
 */
export function parsePublicUrl(text: string, option = "--public-url"): string {
  const url = URL.parse(text);
  const plain = url && (url.protocol === "http:" || url.protocol === "https:") &&
    url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  if (!plain) {
    throw new UsageError(
      `${option}: ${JSON.stringify(text)} is no address of a cloud; write ` +
        "https://HOST or http://HOST:PORT, nothing after it",
    );
  }
  return url.origin;
}

/** The URL of what listens at an address; `hostname` is that of this host. */
export function urlOf(address: ListenAddress, tls: boolean, hostname: string): string {
  const anywhere = ["", "0.0.0.0", "::"].includes(address.hostname);
  const host = anywhere ? hostname : address.hostname;
  const bracketed = host.includes(":") ? `[${host}]` : host;
  return `${tls ? "https" : "http"}://${bracketed}:${address.port}`;
}

/** Whether only programs on this host can reach an address. */
export function isLoopback({ hostname }: ListenAddress): boolean {
  return isLoopbackHost(hostname);
}

/** Host and port of a URL as signalling wants them: the port is always there. */
export function hostPort(url: string): string {
  const { hostname, port, protocol } = new URL(url);
  return `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
}
