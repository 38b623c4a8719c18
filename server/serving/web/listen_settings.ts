/** Where and how the server listens, from the configuration. Pure but for reading certificates. */
import { isLoopbackHost } from "../../../shared/base/net/loopback.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";

/** A server that listens there has been requested the same thing. */
export interface ListenSettings {
  /** Empty: all addresses. */
  readonly hostname: string;
  readonly port: number;
  /** PEM texts; undefined for plaintext. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Name of the machine in its own network, for the ready line with TLS. */
  readonly localFqdn: string;
}

/** Default of `network.bind_address`. */
const DEFAULT_ADDRESS = "localhost:8080";
/** The same when the cloud gave a certificate. */
const DEFAULT_TLS_ADDRESS = ":8080";

type NetworkConfig = Pick<MachineConfig, "network" | "cloud">;

export interface ListenSources {
  config: NetworkConfig;
  /** `network.bind_address` of the local file; wins over the cloud's. */
  localAddress: string | undefined;
  /** `-no-tls` */
  noTls: boolean;
  /** What the cloud issued for this machine. */
  issued?: IssuedCertificate | undefined;
}

/** PEM texts. */
export interface IssuedCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads `network` and the certificate it names.
 *
 * @throws {FileError} when a certificate file cannot be read.
 */
export async function listenSettings(sources: ListenSources): Promise<ListenSettings> {
  const { network, cloud } = sources.config;
  const isOff = sources.noTls || network?.no_tls;
  const own = isOff ? undefined : await certificate(sources.config);
  const found = own ?? (isOff ? undefined : sources.issued);
  const fromCloud = found !== undefined && !network?.tls_cert_file;
  const address = parseAddress(
    sources.localAddress || network?.bind_address ||
      (fromCloud ? DEFAULT_TLS_ADDRESS : DEFAULT_ADDRESS),
  );
  // Nobody else receives what goes over loopback, and callers there know the machine by no name.
  const tls = own ?? (isLoopbackHost(address.hostname) ? undefined : found);
  return { ...address, tls, localFqdn: cloud?.local_fqdn ?? "" };
}

/** True when there is a certificate that `no_tls` or `-no-tls` keeps from being used. */
export function leavesCertificate(
  { network, cloud }: NetworkConfig,
  { tls }: Pick<ListenSettings, "tls">,
): boolean {
  return tls === undefined && Boolean(network?.tls_cert_file || cloud?.tls_certificate);
}

async function certificate({ network, cloud }: NetworkConfig): Promise<ListenSettings["tls"]> {
  if (network?.tls_cert_file && network.tls_key_file) {
    return {
      cert: await readPem(network.tls_cert_file),
      key: await readPem(network.tls_key_file),
    };
  }
  if (cloud?.tls_certificate && cloud.tls_private_key) {
    return { cert: cloud.tls_certificate, key: cloud.tls_private_key };
  }
}

async function readPem(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw toFileError(error, "read the certificate file", path);
  }
}

/** Splits `host:port`, `[v6]:port` or `:port`; the form has been checked with the configuration. */
export function parseAddress(address: string): { hostname: string; port: number } {
  const [, written = "", digits = ""] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65535) {
    throw new Error(
      `network.bind_address: found ${JSON.stringify(address)}, ` +
        "allowed: host:port or :port, for example localhost:8080",
    );
  }
  const host = written.replace(/^\[|\]$/g, "");
  // A name may mean ::1 first; clients of 127.0.0.1 would then find nobody.
  return { hostname: host === "localhost" ? "127.0.0.1" : host, port };
}

/** True when the server can be reached from other hosts by any of its addresses. */
export function bindsToAll({ hostname }: Pick<ListenSettings, "hostname">): boolean {
  return hostname === "" || hostname === "0.0.0.0" || hostname === "::";
}

/**
 * The fields of the ready line. `alt_url` is the address by number, and always there: agents of
 * other makes take a line without it for no ready line.
 */
export function readyFields(
  settings: ListenSettings,
  address: { hostname: string; port: number },
): { url: string; alt_url: string } {
  const host = bindsToAll(address) ? "0.0.0.0" : address.hostname;
  const shown = host.includes(":") ? `[${host}]` : host;
  const url = `${settings.tls ? "https" : "http"}://${shown}:${address.port}`;
  if (!settings.tls || settings.localFqdn === "") return { url, alt_url: url };
  return { url: `https://${settings.localFqdn}:${address.port}`, alt_url: url };
}
