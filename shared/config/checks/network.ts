/** Checks of cloud, network and auth. What they report is fatal: nothing may be applied then. */
import type { CloudBlock } from "../cloud_block.ts";
import { isHostName, isHostPort, isWebOrigin } from "../forms.ts";
import type { AuthConfig, NetworkConfig } from "../network.ts";
import { type Path, problemAt, type Report } from "../problem.ts";
import { checkDuration } from "./durations.ts";
import { CREDENTIAL_TYPES } from "./entries.ts";
import { findDuplicates } from "./names.ts";

/** Where a configuration comes from: a local file holds credentials, a cloud's answer has names. */
export type ConfigSource = "file" | "cloud";

const HEARTBEAT_RANGE = { minMs: 30, maxMs: 60_000, allowed: "30ms to 1m" };
const JWK_ALGORITHMS = ["RS256", "RS384", "RS512"];

/** Checks the `cloud` block. */
export function checkCloud(
  cloud: CloudBlock,
  source: ConfigSource,
  report: Report,
): void {
  const missing = (path: Path, message: string, allowed: string) =>
    report(problemAt(path, undefined, message, allowed));
  if (!cloud.id) missing(["cloud", "id"], "the part id is missing", "the id of the machine part");
  if (source === "cloud") {
    for (const key of ["fqdn", "local_fqdn"] as const) {
      if (!cloud[key]) missing(["cloud", key], `${key} is missing`, "the name the cloud gave");
    }
  } else {
    const { id, key } = cloud.api_key ?? {};
    if (id && !key) missing(["cloud", "api_key", "key"], "the API key is missing", "the API key");
    if (key && !id) missing(["cloud", "api_key", "id"], "the id of the API key is missing", "");
    if (!id && !key && !cloud.secret) {
      missing(["cloud"], "there are no credentials", "secret, or api_key with id and key");
    }
  }
  checkDuration(cloud.refresh_interval, ["cloud", "refresh_interval"], report);
}

/** Checks the `network` object. */
export function checkNetwork(network: NetworkConfig, report: Report): void {
  const address = network.bind_address;
  if (address && !isHostPort(address)) {
    const allowed = "host:port or :port, for example localhost:8080";
    report(
      problemAt(["network", "bind_address"], address, "this is not an address with port", allowed),
    );
  }
  const { tls_cert_file: cert, tls_key_file: key } = network;
  if (Boolean(cert) !== Boolean(key)) {
    const missing = cert ? "tls_key_file" : "tls_cert_file";
    report(
      problemAt(
        ["network", missing],
        undefined,
        `${missing} is missing while the other is set`,
        "both tls_cert_file and tls_key_file, or none",
      ),
    );
  }
  network.allowed_hosts?.forEach((host, at) => {
    if (!isHostName(host)) {
      const allowed = "a name without scheme, port or *, for example robot.lan";
      report(problemAt(["network", "allowed_hosts", at], host, "this is no host name", allowed));
    }
  });
  network.allowed_origins?.forEach((origin, at) => {
    if (!isWebOrigin(origin)) {
      const allowed = "scheme://host, with the port unless it is the scheme's, " +
        "for example https://panel.example:8443";
      const path = ["network", "allowed_origins", at];
      report(problemAt(path, origin, "this is no origin of a page", allowed));
    }
  });
  checkDuration(
    network.sessions?.heartbeat_window,
    ["network", "sessions", "heartbeat_window"],
    report,
    HEARTBEAT_RANGE,
  );
  network.traffic_tunnel_endpoints?.forEach((endpoint, at) => {
    const path = ["network", "traffic_tunnel_endpoints", at];
    if (endpoint.port < 1 || endpoint.port > 65535) {
      report(problemAt([...path, "port"], endpoint.port, "this is not a port", "1 to 65535"));
    }
    checkDuration(endpoint.connection_timeout, [...path, "connection_timeout"], report);
  });
}

/** Checks the `auth` object. */
export function checkAuth(auth: AuthConfig, report: Report): void {
  const handlers = auth.handlers ?? [];
  handlers.forEach((handler, at) => {
    const path = ["auth", "handlers", at];
    if (!CREDENTIAL_TYPES.some((type) => type === handler.type)) {
      const allowed = CREDENTIAL_TYPES.join(", ");
      report(
        problemAt([...path, "type"], handler.type, "this is not a credential type", allowed),
      );
    } else if (handler.type === "api-key" && Object.keys(handler.config ?? {}).length === 0) {
      const allowed = "<key id>: <key>, and keys, the list of key ids";
      report(problemAt([...path, "config"], handler.config, "there are no API keys", allowed));
    }
  });
  findDuplicates(handlers.map((handler) => handler.type), (at, first) => {
    report(
      problemAt(
        ["auth", "handlers", at, "type"],
        handlers[at]?.type,
        `handlers[${first}] has the same type`,
        "each type once",
      ),
    );
  });
  checkKeySet(auth, report);
}

function checkKeySet(auth: AuthConfig, report: Report): void {
  if (!auth.external_auth_config) return;
  const path = ["auth", "external_auth_config", "jwks", "keys"];
  const keys = auth.external_auth_config.jwks.keys ?? [];
  if (keys.length === 0) {
    report(problemAt(path, keys, "there are no keys", "at least one RSA key"));
  }
  keys.forEach((key, at) => {
    if (key["kty"] !== "RSA") {
      report(problemAt([...path, at, "kty"], key["kty"], "this is not a key type", "RSA"));
    }
    if (!JWK_ALGORITHMS.some((algorithm) => algorithm === key["alg"])) {
      const allowed = JWK_ALGORITHMS.join(", ");
      report(problemAt([...path, at, "alg"], key["alg"], "this is not an algorithm", allowed));
    }
  });
}
