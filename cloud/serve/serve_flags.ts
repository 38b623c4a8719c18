import { RETENTION_DAYS } from "../accounts/audit/audit_log.ts";
import { DEFAULT_ADDRESS, DEFAULT_DOMAIN } from "../api/addresses/defaults.ts";
import { LOG_LIMITS } from "../fleet/logs/log_quota.ts";
import type { FlagTable, FlagValues } from "../../shared/base/flags/flags.ts";
import { trainingFlags } from "./training_flags.ts";
import { KIB, MIB } from "./units.ts";

/** Let's Encrypt. */
const ACME_DIRECTORY = "https://acme-v02.api.letsencrypt.org/directory";

/** Options of `machine-cloud serve`. */
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
    env: "MACHINE_CLOUD_DATABASE",
    doc: "postgres://USER@HOST:PORT/DATABASE, in place of SQLite in the data folder; the folder " +
      "keeps the address, without a password, for the other commands.",
  },
  "cluster": {
    type: "boolean",
    doc: "Serve as one of several nodes, all with this option, on one PostgreSQL and one object " +
      "storage, behind one --public-url. Each has a data folder of its own with the same cloud.key.",
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
    doc: "Notified by the ACME server of certificates that expire.",
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
    doc: "Where the ACME server validates that a name leads here; it connects to port 80.",
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
    type: "string",
    placeholder: "NETWORKS",
    doc:
      "Load balancers that send a PROXY header, version 1 or 2, with the caller's address, such " +
      "as 10.0.0.7,fd00::/8, before TLS. Theirs are refused without one, and others with one. " +
      "Not together with --acme-domain.",
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
    doc: "Largest image, video or other file that machines may send, in MiB.",
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
  ...trainingFlags,
  "oidc-issuer": {
    type: "string",
    placeholder: "URL",
    doc:
      "Let people sign in at this OpenID Connect issuer, too. There this cloud is a client with " +
      "the redirect URI PUBLIC_URL/account/single-sign-on/done.",
  },
  "oidc-client-id": {
    type: "string",
    placeholder: "ID",
    doc: "Id of this cloud at the issuer.",
  },
  "oidc-client-secret-file": {
    type: "string",
    placeholder: "FILE",
    doc:
      "File with the client secret that the issuer gave. Default: a public client, by PKCE only.",
  },
  "oidc-name": {
    type: "string",
    placeholder: "NAME",
    doc: "What people call the issuer: Sign in with NAME. Default: its host.",
  },
  "oidc-domain": {
    type: "list",
    placeholder: "NAME",
    doc:
      "Take only verified addresses of this domain from the issuer; several times for several. " +
      "Default: all that are invited.",
  },
  "oidc-trust-second-factor": {
    type: "boolean",
    doc: "Leave the second factor to the issuer: who has set one up here need not give its code.",
  },
  "audit-retention": {
    type: "integer",
    default: RETENTION_DAYS,
    min: 0,
    max: 36_500,
    placeholder: "DAYS",
    doc: "How long the audit log keeps who did what; 0 is permanently.",
  },
  "release-source": {
    type: "string",
    placeholder: "URL",
    env: "MACHINE_CLOUD_RELEASE_SOURCE",
    doc: "Bring each new stable release of machine-server and machine-agent from this download " +
      "folder, looked at every hour. Default: none.",
  },
  "release-source-key": {
    type: "string",
    placeholder: "KEY",
    env: "MACHINE_CLOUD_RELEASE_SOURCE_KEY",
    doc: "Public key of minisign whose signature counts there: a file, or the line that begins " +
      "with RW.",
  },
  "release-source-percent": {
    type: "integer",
    min: 0,
    max: 100,
    placeholder: "N",
    doc: "Give such a release to so many percent of the machines first. Default: to all.",
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
    doc:
      "KiB a second that one part may log; lines beyond it are dropped, and its log records that.",
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
  "otlp-endpoint": {
    type: "string",
    placeholder: "URL",
    doc: "Send a trace span of each call to this collector, by OTLP over HTTP, such as " +
      "http://localhost:4318. Default: none.",
  },
  "map-tiles": {
    type: "string",
    placeholder: "URL",
    doc: "Tiles for the console's map, such as https://tiles.example/{z}/{x}/{y}.png: browsers " +
      "load images from there, too. Default: none, the map shows outlines of the land.",
  },
  "map-attribution": {
    type: "string",
    placeholder: "TEXT",
    doc: "Who made the tiles, shown on the map; most ask for it.",
  },
  "debug": { type: "boolean", doc: "Log everything." },
} as const satisfies FlagTable;

export type ServeFlags = FlagValues<typeof serveFlags>;
