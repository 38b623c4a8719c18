import { isIP } from "node:net";
import { readFile } from "node:fs/promises";
import type { ClientConfig } from "pg";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import type { PostgresAddress, PostgresTls } from "./address.ts";

/** How long a connection may take. */
const CONNECT_MS = 10_000;
/** A node that stands still within a transaction loses it, and others continue. */
const IDLE_IN_TRANSACTION_MS = 30_000;

const INT8 = 20;
const BOOL = 16;
const NUMERIC = 1700;

/** As SQLite gives them: whole numbers and sums as numbers, truth as 1 and 0. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: toSafeNumber,
  [NUMERIC]: Number,
  [BOOL]: (text) => (text === "t" ? 1 : 0),
};

function toSafeNumber(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(
    `the database has the number ${text}, which is larger than any that is used`,
  );
}

/**
 * What `pg` takes for an address.
 *
 * @param name of the connections, which the database shows
 * @throws {FileError} for a certificate that cannot be read.
 */
export async function clientConfig(
  address: PostgresAddress,
  name = "machine-cloud",
): Promise<ClientConfig> {
  const { parsers, types } = await loadTypes();
  const settings = [
    `search_path=${address.schema}`,
    `statement_timeout=${address.statementTimeoutMs}`,
    `idle_in_transaction_session_timeout=${IDLE_IN_TRANSACTION_MS}`,
    "bytea_output=hex",
    // A host that is gone loses its locks after this.
    "tcp_keepalives_idle=10",
    "tcp_keepalives_interval=5",
    "tcp_keepalives_count=3",
    "timezone=UTC",
  ];
  return {
    host: address.host,
    port: address.port,
    user: address.user,
    password: address.password,
    database: address.database,
    ssl: await tlsConfig(address.tls, address.host),
    application_name: name,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    options: settings.map((setting) => `-c ${setting}`).join(" "),
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") =>
        (format === "binary" ? undefined : parsers[oid]) ?? types.getTypeParser(oid, format),
    },
  } as ClientConfig;
}

async function loadTypes() {
  const { default: pg } = await import("pg");
  return { parsers: PARSERS, types: pg.types };
}

async function tlsConfig(tls: PostgresTls, host: string): Promise<ClientConfig["ssl"]> {
  if (tls.mode === "disable") return false;
  const ca = await readPem(tls.rootCertificate);
  const cert = await readPem(tls.certificate);
  const key = await readPem(tls.key);
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    rejectUnauthorized: tls.mode !== "require",
    ...(tls.mode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}

async function readPem(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw toFileError(error, "read a certificate of the database", path);
  }
}
