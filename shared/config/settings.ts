/** Settings with their defaults filled in and durations as numbers, for those who apply them. */
import type { CloudBlock } from "./cloud_block.ts";
import { durationMs } from "./forms.ts";
import type { NetworkConfig } from "./network.ts";

const DEFAULT_BIND_ADDRESS = "localhost:8080";
const DEFAULT_TLS_BIND_ADDRESS = ":8080";
const DEFAULT_HEARTBEAT_WINDOW_MS = 2_000;
const DEFAULT_TUNNEL_TIMEOUT_MS = 10_000;
const DEFAULT_REFRESH_INTERVAL_MS = 10_000;

/** How the server listens. */
export interface NetworkSettings {
  /** host:port; an empty host means every interface. */
  bindAddress: string;
  /** Files in PEM; both or none. */
  tls: { certFile: string; keyFile: string } | undefined;
  noTls: boolean;
  heartbeatWindowMs: number;
  tunnels: { port: number; connectionTimeoutMs: number }[];
}

/**
 * The `network` object with its defaults.
 *
 * @param options.hasCertificate the machine has a certificate of its cloud: then the default is to
 *   listen on every interface, else on loopback only
 */
export function networkSettings(
  network: NetworkConfig | undefined,
  options: { hasCertificate: boolean },
): NetworkSettings {
  const { tls_cert_file: certFile, tls_key_file: keyFile } = network ?? {};
  return {
    bindAddress: network?.bind_address ||
      (options.hasCertificate ? DEFAULT_TLS_BIND_ADDRESS : DEFAULT_BIND_ADDRESS),
    tls: certFile && keyFile ? { certFile, keyFile } : undefined,
    noTls: network?.no_tls ?? false,
    heartbeatWindowMs: positiveMs(network?.sessions?.heartbeat_window) ??
      DEFAULT_HEARTBEAT_WINDOW_MS,
    tunnels: (network?.traffic_tunnel_endpoints ?? []).map((endpoint) => ({
      port: endpoint.port,
      connectionTimeoutMs: positiveMs(endpoint.connection_timeout) ?? DEFAULT_TUNNEL_TIMEOUT_MS,
    })),
  };
}

/** How often the cloud is asked for the configuration, in milliseconds. Default 10 s. */
export function refreshIntervalMs(cloud: CloudBlock | undefined): number {
  return positiveMs(cloud?.refresh_interval) ?? DEFAULT_REFRESH_INTERVAL_MS;
}

function positiveMs(text: string | undefined): number | undefined {
  const ms = text ? durationMs(text) : undefined;
  return ms !== undefined && ms > 0 ? ms : undefined;
}
