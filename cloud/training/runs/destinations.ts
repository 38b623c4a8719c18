import { networkInterfaces } from "node:os";
import { isIP } from "node:net";
import {
  isPublicAddress,
  type Resolve,
  systemResolve,
} from "../../triggers/delivery/address_guard.ts";
import type { Inherited } from "./run_environment.ts";

/** A host, in lower case and without brackets, and a port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** A proxy that the cloud itself has to use. */
export interface UpstreamProxy extends HostPort {
  /** Value of `Proxy-Authorization`; empty: none. */
  readonly authorization: string;
}

/** Where a script may go was refused; the message is for people. */
export class RefusedDestinationError extends Error {
  override readonly name = "RefusedDestinationError";
}

export interface DestinationsOptions {
  /** The cloud's own address, and package indexes: wherever they are. */
  readonly always: readonly HostPort[];
  readonly resolve?: Resolve;
  /** Addresses of this host; the internet may see less of it than it does itself. */
  readonly ownAddresses?: () => readonly string[];
}

/** Reports where scripts may go: the public internet, and what is named. */
export class Destinations {
  constructor(private readonly options: DestinationsOptions) {}

  /**
   * The addresses to connect to.
   *
   * @throws {RefusedDestinationError}; whatever the resolver throws.
   */
  async addressesOf({ host, port }: HostPort): Promise<string[]> {
    const { always, resolve = systemResolve, ownAddresses = addressesOfThisComputer } =
      this.options;
    const isNamed = always.some((each) => each.host === host && each.port === port);
    const found = isIP(host) === 0 ? (await resolve(host)).map(({ address }) => address) : [host];
    if (isNamed) return found;
    const own = new Set(ownAddresses());
    const allowed = found.filter((address) => isPublicAddress(address) && !own.has(address));
    if (allowed.length > 0) return allowed;
    throw new RefusedDestinationError(
      `${host}:${port} is not on the public internet: training scripts reach that, this cloud ` +
        "and its package index only",
    );
  }
}

function addressesOfThisComputer(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address)
  );
}

/** Host and port of a URL. Undefined for what is none, and for other schemes than http and https. */
export function hostPortOf(text: string): HostPort | undefined {
  const url = URL.parse(text);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined;
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  return { host: url.hostname.replace(/^\[|\]$/g, "").toLowerCase(), port };
}

const INDEX_NAMES = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"];

/**
 * The package indexes of pip: its own, for which a mirror may stand in some networks, and those that
 * it is named by its environment and its settings for all users.
 *
 * @param settings content of `/etc/pip.conf`.
 * @param own hosts of pip's own index.
 */
export function packageIndexes(
  inherited: Inherited,
  settings: string,
  own: readonly string[],
): HostPort[] {
  const named = INDEX_NAMES.map((name) => inherited[name] ?? "");
  const lines = settings.split("\n").filter((line) => !/^\s*[#;]/.test(line));
  const words = [...named, ...lines].join(" ").split(/[\s=]+/);
  const usual = own.map((host) => ({ host, port: 443 }));
  return [...usual, ...words.flatMap((word) => hostPortOf(word) ?? [])];
}

const PROXY_NAMES = ["PIP_PROXY", "https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];

/** The proxy that this process reaches the internet by, as far as it is one by plain HTTP. */
export function upstreamProxy(inherited: Inherited): UpstreamProxy | undefined {
  const text = PROXY_NAMES.map((name) => inherited[name]).find((value) => value);
  const url = text === undefined ? null : URL.parse(text.includes("://") ? text : `http://${text}`);
  const address = url?.protocol === "http:" ? hostPortOf(url.href) : undefined;
  if (!url || !address) return undefined;
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { ...address, authorization: user === ":" ? "" : `Basic ${btoa(user)}` };
}
