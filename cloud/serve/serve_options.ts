import { hostname } from "node:os";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { AddressList } from "../../shared/rpc/server/address_list.ts";
import { parseListenAddress, parsePublicUrl } from "../api/addresses/addresses.ts";
import { logLimits } from "../fleet/logs/log_quota.ts";
import type { IceServerSetting } from "../fleet/signaling/ice_servers.ts";
import { readS3Settings } from "../storage/blobs/s3_settings.ts";
import { kubernetesOf } from "./kubernetes_options.ts";
import { rayOf } from "./ray_options.ts";
import { releaseSourceOf } from "./release_source.ts";
import { type MapTiles, tileOrigin } from "../web/map_tiles.ts";
import { singleSignOnOf } from "./single_sign_on_options.ts";
import { parsePostgresAddress, PostgresAddressError } from "../storage/postgres/address.ts";
import type { CloudOptions } from "./cloud.ts";
import type { ServeFlags } from "./serve_flags.ts";
import { KIB, MIB, MINUTE_MS } from "./units.ts";

/** What the command line requests. Reads the certificate; changes nothing. */
export async function readServeOptions(
  flags: ServeFlags,
  home: string,
  env: (name: string) => string | undefined,
): Promise<CloudOptions> {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(flags.domain)) {
    throw new UsageError(`--domain: ${JSON.stringify(flags.domain)} is no domain name`);
  }
  const dataDir = flags.data ?? `${home}/.machine/cloud`;
  const publicUrl = flags["public-url"];
  const runner = flags["training-runner"];
  const blobStore = flags["blob-store"];
  return {
    listen: parseListenAddress(flags.listen),
    publicUrl: publicUrl === undefined ? undefined : parsePublicUrl(publicUrl),
    dataDir,
    database: databaseOf(flags.database, dataDir),
    domain: flags.domain,
    cluster: flags.cluster,
    tls: acmeOf(flags) ?? await readCertificate(flags["tls-cert"], flags["tls-key"]),
    authority: authorityOf(flags["ca-cert"], flags["ca-key"]),
    balancers: balancersOf(flags["proxy-protocol"]),
    auditDays: flags["audit-retention"],
    singleSignOn: await singleSignOnOf(flags),
    releaseSource: await releaseSourceOf(flags),
    packageLimitBytes: flags["package-limit"] * 1024 * 1024,
    objectStorage: blobStore === undefined ? undefined : readS3Settings(blobStore, env),
    fileLimitBytes: flags["data-file-limit"] * 1024 * 1024,
    notifications: {
      smtpUrl: smtpUrlOf(flags["smtp-url"]),
      mailFrom: mailFromOf(flags["mail-from"]),
      allowPrivateWebhooks: flags["allow-private-webhooks"],
    },
    training: {
      jobs: flags["training-jobs"],
      jobsPerOrganization: flags["training-jobs-per-organization"],
      mostUnfinished: flags["training-queue"],
      python: flags["training-python"],
      allowNoWalls: flags["training-walls"] === "if-possible",
      weights: flags["training-weights"],
      engine: runner === "podman" || runner === "docker" ? runner : undefined,
      ray: await rayOf(flags),
      kubernetes: await kubernetesOf(flags, env),
      images: await readableImages(flags["training-images"]),
      limits: {
        memoryBytes: flags["training-memory"] * MIB,
        diskBytes: flags["training-disk"] * MIB,
        wallMs: flags["training-time"] * MINUTE_MS,
        cpuMs: flags["training-cpu-time"] * MINUTE_MS,
      },
    },
    iceServers: await iceServersOf(flags["ice-servers"]),
    offlineAfterMs: flags["offline-after"] * 1_000,
    logLimits: logLimits(flags["log-rate"] * KIB, flags["log-size"] * MIB),
    operations: {
      metricsListen: metricsListenOf(flags["metrics-listen"]),
      metricsToken: flags["metrics-token"],
      accessLog: flags["access-log"],
      tracesUrl: tracesUrl(flags["otlp-endpoint"]),
    },
    mapTiles: mapTilesOf(flags["map-tiles"], flags["map-attribution"]),
    hostname: hostname(),
  };
}

/** An address that is none is reported before anything is made. */
function databaseOf(address: string | undefined, dataDir: string): string | undefined {
  if (address === undefined) return undefined;
  try {
    parsePostgresAddress(address, dataDir);
  } catch (error) {
    if (!(error instanceof PostgresAddressError)) throw error;
    throw new UsageError(`--database: ${error.message}`);
  }
  return address;
}

function balancersOf(text: string | undefined): AddressList | undefined {
  if (text === undefined) return undefined;
  try {
    return new AddressList(text.split(",").map((entry) => entry.trim()));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`--proxy-protocol: ${error.message}`);
  }
}

/** A list that cannot be used is reported at the start, not with the first job. */
async function readableImages(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const { ImageListError, readImages } = await import("../training/runs/container_images.ts");
  try {
    await readImages(path);
  } catch (error) {
    if (!(error instanceof ImageListError)) throw error;
    throw new UsageError(`--training-images: ${error.message}`);
  }
  return path;
}

async function iceServersOf(path: string | undefined): Promise<IceServerSetting[] | undefined> {
  if (path === undefined) return undefined;
  const { IceServersError, readIceServers } = await import("../fleet/signaling/ice_server_list.ts");
  try {
    return await readIceServers(path);
  } catch (error) {
    if (!(error instanceof IceServersError)) throw error;
    throw new UsageError(`--ice-servers: ${error.message}`);
  }
}

function smtpUrlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isSmtp = url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== "";
  // The text may hold a password: it is not repeated.
  if (!isSmtp) {
    throw new UsageError(
      "--smtp-url: this is no address of a mail server; write smtp://USER:PASSWORD@HOST:PORT, or " +
        "smtps:// for TLS from the start",
    );
  }
  return text;
}

function acmeOf(flags: ServeFlags): CloudOptions["tls"] {
  const domains = flags["acme-domain"];
  if (domains.length === 0) return undefined;
  if (flags["tls-cert"] !== undefined || flags["tls-key"] !== undefined) {
    throw new UsageError("--acme-domain and --tls-cert do not go together; leave one of them out");
  }
  if (flags["proxy-protocol"] !== undefined) {
    throw new UsageError("--proxy-protocol and --acme-domain do not go together");
  }
  for (const name of domains) {
    if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/.test(name)) {
      throw new UsageError(`--acme-domain: ${JSON.stringify(name)} is no host name`);
    }
  }
  const directoryUrl = flags["acme-directory"];
  if (URL.parse(directoryUrl)?.protocol !== "https:") {
    throw new UsageError("--acme-directory: write the https:// address of an ACME directory");
  }
  const listen = parseListenAddress(flags["acme-listen"], "--acme-listen");
  return { acme: { domains, email: flags["acme-email"], directoryUrl, listen } };
}

function metricsListenOf(text: string | undefined) {
  return text === undefined ? undefined : parseListenAddress(text, "--metrics-listen");
}

function mailFromOf(text: string | undefined): string | undefined {
  if (text === undefined || /^([^<>\r\n]*<)?[^\s@<>]+@[^\s@<>]+>?$/.test(text)) return text;
  throw new UsageError(`--mail-from: ${JSON.stringify(text)} is no e-mail address`);
}

function authorityOf(certificate: string | undefined, key: string | undefined) {
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined) {
    throw new UsageError("--ca-cert and --ca-key go together; give both or none");
  }
  return { certificate, key };
}

async function readCertificate(certFile: string | undefined, keyFile: string | undefined) {
  if (certFile === undefined && keyFile === undefined) return undefined;
  if (certFile === undefined || keyFile === undefined) {
    throw new UsageError("--tls-cert and --tls-key go together; give both or none");
  }
  return {
    cert: await readPem("--tls-cert", certFile),
    key: await readPem("--tls-key", keyFile),
    files: { cert: certFile, key: keyFile },
  };
}

async function readPem(flag: string, path: string): Promise<string> {
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    throw toFileError(error, `read the file of ${flag}`, path);
  }
  if (text.includes("-----BEGIN ")) return text;
  throw new UsageError(`${flag}: ${path} is no PEM file`);
}

function mapTilesOf(urlTemplate: string | undefined, attribution = ""): MapTiles | undefined {
  if (urlTemplate === undefined) {
    if (attribution === "") return undefined;
    throw new UsageError("--map-attribution is for the tiles of --map-tiles; give both");
  }
  if (tileOrigin(urlTemplate) !== undefined) return { urlTemplate, attribution };
  throw new UsageError(
    "--map-tiles: write an address of one host with places for the tile, such as " +
      "https://tiles.example/{z}/{x}/{y}.png",
  );
}

/** The address of a collector with the path that OTLP has for traces. */
function tracesUrl(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined) return undefined;
  const url = URL.parse(endpoint);
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw new UsageError(
      `--otlp-endpoint ${endpoint} is no address of http or https; write http://localhost:4318`,
    );
  }
  return endpoint.endsWith("/v1/traces") ? endpoint : `${endpoint.replace(/\/+$/, "")}/v1/traces`;
}
