import { StoreError } from "../../../shared/base/store/sqlite.ts";
import { DatabaseUnreachableError, postgresCode } from "../database/postgres_failures.ts";
import type { PostgresAddress } from "./address.ts";

/** Whether a connection is of no more use after an error. */
export function endsConnection(error: unknown): boolean {
  const code = postgresCode(error);
  return code === undefined || /^(57P|08|25P03|XX)/.test(code);
}

const REASONS: readonly (readonly [pattern: RegExp, text: string])[] = [
  [
    /^28/,
    "refuses the user or the password. Check the user in --database, and the password in " +
    "it, in PGPASSWORD or in the file that PGPASSFILE names",
  ],
  [/^3D000$/, "is not there. Make it with createdb, or correct the name in --database"],
  [/^42501$/, "does not let this user make the cloud's tables. Grant it CREATE on the database"],
  [/^53300$/, "has no connection left. Raise its max_connections, or lower pool= in --database"],
  [/^57P03$/, "is starting or stopping. Try again"],
  [/^25006$/, "is read-only: this is a standby. Name the primary in --database"],
];

/** What is wrong with its certificate, and what to do, by what TLS reports. */
const CERTIFICATE_REASONS: readonly (readonly [RegExp, readonly [string, string]])[] = [
  [
    /self-signed|unable to (verify|get)/i,
    [
      "none that is trusted here",
      "name the file of its CA with sslrootcert= in --database, or correct the one that is named",
    ],
  ],
  [
    /altnames|does not match/i,
    [
      "for another host",
      "write the host that it is for in --database, or sslmode=verify-ca where any may be it",
    ],
  ],
  [/expired|not yet valid/i, ["not valid now", "renew it, and look at the clocks of both hosts"]],
];

/** Why the database cannot be opened, in one line for the operator. */
export function openingFailure(error: unknown, { shown }: PostgresAddress): StoreError {
  if (error instanceof StoreError) return error;
  const code = postgresCode(error);
  const text = REASONS.find(([pattern]) => code !== undefined && pattern.test(code))?.[1];
  const cause = reasonOf(error);
  if (text !== undefined) {
    return new StoreError("failed", `The database ${shown} ${text} (${cause}).`, error);
  }
  if (/does not support SSL/.test(cause)) {
    const advice = "turn TLS on there, or add sslmode=disable where the network is your own";
    return new StoreError("failed", `The database ${shown} has no TLS; ${advice}.`, error);
  }
  if (/password must be a (non-empty )?string/.test(cause)) {
    const advice = "give it in PGPASSWORD, or in the file that PGPASSFILE names";
    return new StoreError("failed", `The database ${shown} wants a password; ${advice}.`, error);
  }
  const certificate = CERTIFICATE_REASONS.find(([pattern]) => pattern.test(cause))?.[1];
  if (code === undefined && certificate !== undefined) {
    const [problem, advice] = certificate;
    const text = `The certificate of ${shown} is ${problem} (${cause}); ${advice}.`;
    return new StoreError("failed", text, error);
  }
  if (code === undefined) {
    const advice = "Check that PostgreSQL runs there, and the address in --database";
    return new StoreError("failed", `Cannot connect to ${shown}: ${cause}. ${advice}.`, error);
  }
  return new StoreError("failed", `The database ${shown} cannot be used: ${cause}.`, error);
}

/** An error of a statement as it is thrown: what the server itself does not say is of the way to it. */
export function statementFailure(error: unknown): unknown {
  if (postgresCode(error) !== undefined || error instanceof DatabaseUnreachableError) return error;
  return new DatabaseUnreachableError(reasonOf(error), { cause: error });
}

/** A connection that was tried at several addresses of a host has its reasons inside. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  const text = error instanceof Error ? error.message : String(error);
  const cause = error instanceof DatabaseUnreachableError ? error.cause : undefined;
  return text === "" && cause !== undefined ? reasonOf(cause) : text;
}
