import { Code, ConnectError } from "@connectrpc/connect";
import { LeadershipLostError } from "./leader_term.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** PostgreSQL cannot be reached, or ended the connection. */
export class DatabaseUnreachableError extends Error {
  override readonly name = "DatabaseUnreachableError";
}

/** The rows are on SQLite by now. */
export class DatabaseMovedError extends Error {
  override readonly name = "DatabaseMovedError";

  /** @param home the data folder */
  constructor(home: string) {
    super(`the rows of this cloud were moved to the data folder ${home}; nothing was saved`);
  }
}

/** The five characters by which PostgreSQL says what is wrong; undefined: it is no error of its. */
export function postgresCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, severity } = error as Error & { code?: unknown; severity?: unknown };
  if (typeof severity !== "string" || typeof code !== "string") return undefined;
  return /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/**
 * The server stops, starts, crashed, cannot read its files, lets nobody in, or lost its database or
 * connection; whether it had saved something is not known.
 */
const AWAY = /^(08|28|3D|57P|58)/;
/** Out of connections or memory, in conflict with others, too slow, or in no state for it. */
const BUSY = /^(25P|40|53|55|57)/;

/**
 * What a standby says when it is asked to number a transaction, in English everywhere. Others of
 * XX000 are faults of the server, and XX001 and XX002 damage: those are no better the next time.
 */
function isOfStandby(error: unknown): boolean {
  return postgresCode(error) === "XX000" && /during recovery/.test((error as Error).message);
}

/** What a caller sees when PostgreSQL refuses; undefined when that is for others to say. */
export function postgresCallFailure(error: unknown): ConnectError | undefined {
  const failure = (message: string, code: Code) =>
    new ConnectError(message, code, undefined, undefined, error);
  const code = postgresCode(error);
  if (error instanceof DatabaseUnreachableError || AWAY.test(code ?? "") || isOfStandby(error)) {
    return failure("the cloud's database cannot be reached. Try again", Code.Unavailable);
  }
  if (error instanceof LeadershipLostError) {
    return failure("another node of the cloud leads by now. Try again", Code.Unavailable);
  }
  // Machines keep what they could not send, and try again.
  if (error instanceof DatabaseMovedError) return failure(error.message, Code.Unavailable);
  if (code === undefined) return undefined;
  if (code === "53100") {
    const message = "the disk of the cloud's database is full; nothing was saved. Free space there";
    return refusal(
      "DISK_FULL",
      {},
      `${message} and try again`,
      Code.ResourceExhausted,
      error,
    );
  }
  if (code === "25006") {
    const message = "the cloud's database takes no changes at present; nothing was saved";
    return failure(`${message}. Try again`, Code.Unavailable);
  }
  if (BUSY.test(code)) {
    return failure("the cloud's database is busy; nothing was saved. Try again", Code.Unavailable);
  }
  if (code === "22021" || code === "22P05") {
    const message = "a text holds the character U+0000, which the cloud's database cannot keep";
    return refusal("NUL_CHARACTER", {}, message, Code.InvalidArgument, error);
  }
  return undefined;
}
