import { createHash } from "node:crypto";
import { resolve } from "node:path";

/** An address of PostgreSQL, read and checked. */
export interface PostgresAddress {
  /** The name of a host, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  /** Undefined: `PGPASSWORD`, the file that `PGPASSFILE` names, or `.pgpass` in the home folder. */
  readonly password: string | undefined;
  readonly database: string;
  /** Where the cloud's tables are. */
  readonly schema: string;
  readonly tls: PostgresTls;
  /** Most connections that one process keeps, the one that listens not counted. */
  readonly pool: number;
  /** After this a statement is cancelled; it counts waiting for other writers. */
  readonly statementTimeoutMs: number;
  /** Without the password, to be shown. */
  readonly shown: string;
}

export interface PostgresTls {
  readonly mode: "disable" | "require" | "verify-ca" | "verify-full";
  /** Paths of PEM files. */
  readonly rootCertificate: string | undefined;
  readonly certificate: string | undefined;
  readonly key: string | undefined;
}

/** What is wrong with an address, for the operator; it does not repeat a password. */
export class PostgresAddressError extends Error {
  override readonly name = "PostgresAddressError";
}

const PARAMETERS = [
  "host",
  "pool",
  "schema",
  "sslcert",
  "sslkey",
  "sslmode",
  "sslrootcert",
  "statement_timeout",
];
const TLS_MODES = ["disable", "require", "verify-ca", "verify-full"] as const;
const POOL = 10;
const MOST_POOL = 500;
const STATEMENT_TIMEOUT_MS = 30_000;

/**
 * Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?…`. In it `{folder}` stands for a short name of
 * the data folder, so that one setting serves several clouds of a host.
 *
 * @throws {PostgresAddressError}
 */
export function parsePostgresAddress(text: string, dataDir: string): PostgresAddress {
  const url = URL.parse(text.replaceAll("{folder}", folderName(dataDir)));
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    fail("write postgres://USER@HOST:PORT/DATABASE");
  }
  const parameters = url.searchParams;
  for (const name of parameters.keys()) {
    if (PARAMETERS.includes(name)) continue;
    fail(`there is no parameter ${JSON.stringify(name)}; there are ${PARAMETERS.join(", ")}`);
  }
  const host = parameters.get("host") ?? (url.hostname.replace(/^\[|\]$/g, "") || "localhost");
  const database = decodeURIComponent(url.pathname.slice(1));
  if (database === "" || database.includes("/")) {
    fail("it names no database; write postgres://USER@HOST:PORT/DATABASE");
  }
  const schema = parameters.get("schema") ?? "machine_cloud";
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema) || schema.startsWith("pg_")) {
    fail(`schema=${schema} is no name: lower-case letters, digits and _, at most 63`);
  }
  const shown = new URL(url);
  shown.password = "";
  return {
    host,
    port: url.port === "" ? 5432 : Number(url.port),
    user: decodeURIComponent(url.username) || undefined,
    password: decodeURIComponent(url.password) || undefined,
    database,
    schema,
    tls: tlsOf(parameters, host),
    pool: numberOf(parameters, "pool", POOL, 2, MOST_POOL),
    statementTimeoutMs: numberOf(
      parameters,
      "statement_timeout",
      STATEMENT_TIMEOUT_MS,
      1_000,
      3_600_000,
    ),
    shown: shown.href,
  };
}

function tlsOf(parameters: URLSearchParams, host: string): PostgresTls {
  const isOwn = host.startsWith("/") || /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);
  const wanted = parameters.get("sslmode") ?? (isOwn ? "disable" : "verify-full");
  const mode = TLS_MODES.find((known) => known === wanted);
  if (!mode) fail(`sslmode=${wanted} is none of ${TLS_MODES.join(", ")}`);
  const certificate = parameters.get("sslcert") ?? undefined;
  const key = parameters.get("sslkey") ?? undefined;
  if ((certificate === undefined) !== (key === undefined)) {
    fail("sslcert and sslkey go together; give both or none");
  }
  return { mode, rootCertificate: parameters.get("sslrootcert") ?? undefined, certificate, key };
}

function numberOf(
  parameters: URLSearchParams,
  name: string,
  otherwise: number,
  least: number,
  most: number,
): number {
  const text = parameters.get(name);
  if (text === null) return otherwise;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  fail(`${name}=${text} is no number from ${least} to ${most}`);
}

function folderName(dataDir: string): string {
  return createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16);
}

function fail(text: string): never {
  throw new PostgresAddressError(`the address of the database is wrong: ${text}`);
}
