import { hostname } from "node:os";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import type { FlagTable, FlagValues } from "../../shared/base/flags/flags.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { isLoopback, parseListenAddress, parsePublicUrl } from "../api/addresses/addresses.ts";
import { DEFAULT_ADDRESS, DEFAULT_DOMAIN } from "../api/addresses/defaults.ts";
import { LOG_LIMITS, logLimits } from "../fleet/logs/log_quota.ts";
import { RETENTION_DAYS } from "../accounts/audit/audit_log.ts";
import { readS3Settings } from "../storage/blobs/s3_settings.ts";
import { type CloudDeps, type CloudOptions, startCloud } from "./cloud.ts";
import { MOST_UNFINISHED } from "../training/jobs/jobs.ts";
import { RUN_LIMITS } from "../training/runs/limits.ts";
import type { IceServerSetting } from "../fleet/signaling/ice_servers.ts";
import { bearRuntimeFaults } from "./runtime_faults.ts";
import { TRAINING_JOBS } from "./training_settings.ts";

/** Let's Encrypt. */
const ACME_DIRECTORY = "https://acme-v02.api.letsencrypt.org/directory";
const KIB = 1024;
const MIB = 1024 * KIB;
const MINUTE_MS = 60_000;

export const serveFlags = {
  "listen": {
    type: "string",
    default: DEFAULT_ADDRESS,
    placeholder: "HOST:PORT",
    doc: "Address to listen on; `:8080` is every address of this host, port 0 a free one.",
  },
  "data": {
    type: "string",
    placeholder: "DIR",
    env: "MACHINE_CLOUD_DATA",
    doc: "Data folder; made when it is not there. Default: .machine/cloud in the home folder.",
  },
  "database": {
    type: "string",
    placeholder: "URL",
    doc: "postgres://… instead of SQLite in the data folder; not available in this version.",
  },
  "public-url": {
    type: "string",
    placeholder: "URL",
    doc: "Where machines and people reach this cloud. Default: where it listens.",
  },
  "domain": {
    type: "string",
    default: DEFAULT_DOMAIN,
    placeholder: "NAME",
    doc: "Domain of the machines' host names.",
  },
  "tls-cert": {
    type: "string",
    placeholder: "FILE",
    doc: "Certificate with its chain, PEM. Default: no TLS.",
  },
  "tls-key": {
    type: "string",
    placeholder: "FILE",
    doc: "Private key of the certificate, PEM.",
  },
  "acme-domain": {
    type: "list",
    placeholder: "NAME",
    doc:
      "Get the certificate from an ACME server, for this name; several times for several. With " +
      "it you agree to that server's terms.",
  },
  "acme-email": {
    type: "string",
    placeholder: "ADDRESS",
    doc: "Told by the ACME server of certificates that end.",
  },
  "acme-directory": {
    type: "string",
    default: ACME_DIRECTORY,
    placeholder: "URL",
    doc: "The directory of the ACME server.",
  },
  "acme-listen": {
    type: "string",
    default: ":80",
    placeholder: "HOST:PORT",
    doc: "Where the ACME server asks whether a name leads here; it comes to port 80.",
  },
  "ca-cert": {
    type: "string",
    placeholder: "FILE",
    doc: "Certificate of the authority that issues those of machines, PEM. Default: one of the " +
      "cloud's own, made at the first need and kept in the data folder.",
  },
  "ca-key": {
    type: "string",
    placeholder: "FILE",
    doc: "Private key of the authority, PEM (PKCS #8).",
  },
  "proxy-protocol": {
    type: "boolean",
    doc: "Expect a PROXY header, version 1 or 2, in front of every connection, as load balancers " +
      "send it. Not together with --tls-cert.",
  },
  "package-limit": {
    type: "integer",
    default: 2048,
    min: 1,
    max: 1024 * 1024,
    placeholder: "MIB",
    doc: "Largest module or other package that may be uploaded, in MiB.",
  },
  "data-file-limit": {
    type: "integer",
    default: 5120,
    min: 1,
    max: 1024 * 1024,
    placeholder: "MIB",
    doc: "Largest picture, video or other file that machines may send, in MiB.",
  },
  "blob-store": {
    type: "string",
    placeholder: "URL",
    env: "MACHINE_CLOUD_BLOB_STORE",
    doc:
      "Keep large files in an object storage: s3://BUCKET or s3://BUCKET/PREFIX, with its key in " +
      "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Default: in the data folder.",
  },
  "smtp-url": {
    type: "string",
    placeholder: "URL",
    env: "MACHINE_CLOUD_SMTP_URL",
    doc: "Mail server for notifications: smtp://USER:PASSWORD@HOST:587, or smtps:// for TLS from " +
      "the start. Other users see it on a command line, not in the environment. Default: no mail.",
  },
  "mail-from": {
    type: "string",
    placeholder: "ADDRESS",
    doc:
      "Sender of mail, as an address or `Name <address>`. Default: machine-cloud at the host of " +
      "--public-url.",
  },
  "allow-private-webhooks": {
    type: "boolean",
    doc: "Let webhooks lead into private networks and to this host, not only to the internet.",
  },
  "training-jobs": {
    type: "integer",
    default: TRAINING_JOBS,
    min: 0,
    max: 64,
    placeholder: "N",
    doc: "Training jobs that run at once; more wait. One alone uses all processors that there " +
      "are. 0: this cloud trains nothing.",
  },
  "training-jobs-per-organization": {
    type: "integer",
    min: 1,
    max: 64,
    placeholder: "N",
    doc: "Training jobs of one organization that run at once. Default: as many as --training-jobs.",
  },
  "training-queue": {
    type: "integer",
    default: MOST_UNFINISHED,
    min: 1,
    max: 1_000_000,
    placeholder: "N",
    doc: "Training jobs of one organization that may wait or run. More are refused.",
  },
  "training-python": {
    type: "string",
    default: "python3",
    placeholder: "PROGRAM",
    doc: "Python 3.9 or newer with venv, which runs training scripts: a path, or a name in PATH.",
  },
  "training-runner": {
    type: "string",
    choices: ["local", "podman", "docker"],
    default: "local",
    placeholder: "WHERE",
    doc: "Where training scripts run: in a Python environment each, or in containers.",
  },
  "training-walls": {
    type: "string",
    choices: ["required", "if-possible"],
    default: "required",
    placeholder: "WHEN",
    doc: "What becomes of scripts where the system gives the cloud's user no namespaces to run " +
      "them in: they are not started, or run with all rights of the cloud's user.",
  },
  "training-images": {
    type: "string",
    placeholder: "FILE",
    doc: "JSON list of the images that scripts may run in, with podman and docker.",
  },
  "training-weights": {
    type: "string",
    placeholder: "FILE",
    doc: "File of weights that managed training starts from. Default: from scratch.",
  },
  "training-memory": {
    type: "integer",
    default: RUN_LIMITS.memoryBytes / MIB,
    min: 64,
    max: 16 * 1024 * 1024,
    placeholder: "MIB",
    doc: "Most memory of one training run, in MiB. A run that takes more fails.",
  },
  "training-disk": {
    type: "integer",
    default: RUN_LIMITS.diskBytes / MIB,
    min: 16,
    max: 1024 * 1024 * 1024,
    placeholder: "MIB",
    doc: "Most that one training run may write to the disk, in MiB.",
  },
  "training-time": {
    type: "integer",
    default: RUN_LIMITS.wallMs / MINUTE_MS,
    min: 1,
    max: 60 * 24 * 60,
    placeholder: "MINUTES",
    doc: "Longest time of one training run.",
  },
  "training-cpu-time": {
    type: "integer",
    default: RUN_LIMITS.cpuMs / MINUTE_MS,
    min: 1,
    max: 60 * 24 * 60 * 64,
    placeholder: "MINUTES",
    doc: "Most time of all processors together that one training run may take.",
  },
  "audit-retention": {
    type: "integer",
    default: RETENTION_DAYS,
    min: 0,
    max: 36_500,
    placeholder: "DAYS",
    doc: "How long the audit log keeps who did what; 0 is for ever.",
  },
  "ice-servers": {
    type: "string",
    placeholder: "FILE",
    doc: "JSON list of STUN and TURN servers for connections over WebRTC: [{urls, username, " +
      "credential}] or [{urls, secret}]. Default: none, which is enough within one network.",
  },
  "offline-after": {
    type: "integer",
    default: 60,
    min: 5,
    max: 24 * 60 * 60,
    placeholder: "SECONDS",
    doc: "A machine that keeps no stream open is offline after this time without a call.",
  },
  "log-rate": {
    type: "integer",
    default: LOG_LIMITS.bytesPerSecond / KIB,
    min: 1,
    max: 1024 * 1024,
    placeholder: "KIB",
    doc: "KiB a second that one part may log; lines beyond it are dropped, and its log says so.",
  },
  "log-size": {
    type: "integer",
    default: LOG_LIMITS.keptBytes / MIB,
    min: 1,
    max: 1024 * 1024,
    placeholder: "MIB",
    doc: "MiB of log lines that are kept of one part; the oldest go first.",
  },
  "metrics-listen": {
    type: "string",
    placeholder: "HOST:PORT",
    doc: "Serve /metrics for Prometheus on a port of its own, to everybody who reaches it.",
  },
  "metrics-token": {
    type: "string",
    placeholder: "TOKEN",
    env: "MACHINE_CLOUD_METRICS_TOKEN",
    doc:
      "Serve /metrics on the port of --listen to who sends this as a bearer token. Other users " +
      "see it on a command line, not in the environment.",
  },
  "access-log": {
    type: "string",
    placeholder: "FILE",
    doc: "Append a line of JSON for every call and request; - is standard output. Default: none.",
  },
  "debug": { type: "boolean", doc: "Log everything." },
} as const satisfies FlagTable;

export type ServeFlags = FlagValues<typeof serveFlags>;

/** How long running calls may take when the cloud is told to end. */
const GRACE_MS = 5_000;

/** What the command line asks for. Reads the certificate; changes nothing. */
export async function readServeOptions(
  flags: ServeFlags,
  home: string,
  env: (name: string) => string | undefined,
): Promise<CloudOptions> {
  if (flags.database !== undefined) {
    throw new UsageError(
      "--database: another database is not available in this version, everything is kept in " +
        "SQLite in the folder of --data; leave --database out",
    );
  }
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(flags.domain)) {
    throw new UsageError(`--domain: ${JSON.stringify(flags.domain)} is no domain name`);
  }
  if (flags["proxy-protocol"] && flags["tls-cert"] !== undefined) {
    throw new UsageError(
      "--proxy-protocol and --tls-cert do not go together: let the load balancer end TLS, or " +
        "leave --proxy-protocol out",
    );
  }
  const publicUrl = flags["public-url"];
  const runner = flags["training-runner"];
  const blobStore = flags["blob-store"];
  return {
    listen: parseListenAddress(flags.listen),
    publicUrl: publicUrl === undefined ? undefined : parsePublicUrl(publicUrl),
    dataDir: flags.data ?? `${home}/.machine/cloud`,
    domain: flags.domain,
    tls: acmeOf(flags) ?? await readCertificate(flags["tls-cert"], flags["tls-key"]),
    authority: authorityOf(flags["ca-cert"], flags["ca-key"]),
    proxyProtocol: flags["proxy-protocol"],
    auditDays: flags["audit-retention"],
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
      engine: runner === "local" ? undefined : runner,
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
    },
    hostname: hostname(),
  };
}

/** A list that cannot be used is told at the start, not with the first job. */
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
  if (flags["proxy-protocol"]) {
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

/** Serves until the signal aborts. */
export async function runServe(
  flags: ServeFlags,
  options: CloudOptions,
  deps: CloudDeps,
  signal: AbortSignal,
): Promise<void> {
  const { log } = deps;
  bearRuntimeFaults(log);
  const cloud = await startCloud(options, deps);
  for (const warning of startWarnings(options, cloud.url)) {
    log.warn(warning, { listen: flags.listen });
  }
  log.info("serving", { url: cloud.url, data: options.dataDir });
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }
  log.info("stopping");
  await cloud.close({ graceMs: GRACE_MS });
  log.info("stopped");
}

/** What works, but hardly as it was meant. */
export function startWarnings(
  { tls, listen, training }: Pick<CloudOptions, "tls" | "listen" | "training">,
  url: string,
): string[] {
  const warnings: string[] = [];
  if (!tls && !isLoopback(listen)) {
    warnings.push("listening without TLS beyond this host: keys travel in clear");
  }
  if (training?.engine !== undefined && isLoopback({ hostname: new URL(url).hostname, port: 0 })) {
    warnings.push(
      `training scripts in containers cannot call the cloud at ${url}, which is the container ` +
        "itself there: name an address that they reach with --public-url",
    );
  }
  return warnings;
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
