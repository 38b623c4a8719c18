import { Code, ConnectError } from "@connectrpc/connect";
import { postgresCallFailure } from "./postgres_failures.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** How what refuses changes of rows that were moved away begins. */
export const MOVED_TEXT = "the rows of this cloud were moved to";

/**
 * What a caller sees when the database refuses: the reason, and whether trying again can help.
 * Everything else comes back as it is.
 */
export function toCallFailure(error: unknown): unknown {
  const code = sqliteCode(error);
  if (code === undefined) return postgresCallFailure(error) ?? error;
  if (code.startsWith("SQLITE_FULL") || code === "SQLITE_IOERR_WRITE") {
    const message = "the cloud's disk is full; nothing was saved. Free space there and try again";
    return refusal("DISK_FULL", {}, message, Code.ResourceExhausted, error);
  }
  if (code === "SQLITE_CONSTRAINT_TRIGGER" && String(error).includes(MOVED_TEXT)) {
    return new ConnectError((error as Error).message, Code.Unavailable);
  }
  if (code.startsWith("SQLITE_BUSY")) {
    const message = "the cloud's database is busy; nothing was saved. Try again";
    return refusal("TRY_LATER", {}, message, Code.Unavailable, error);
  }
  if (code.startsWith("SQLITE_READONLY") || code.startsWith("SQLITE_IOERR")) {
    const message = "the cloud cannot write to its database; nothing was saved. Check its disk";
    return refusal("STORAGE_AWAY", {}, message, Code.Unavailable, error);
  }
  return error;
}

/** The same where nothing is thrown: as it is sent. */
export function callFailure(error: unknown): ConnectError {
  return ConnectError.from(toCallFailure(error));
}

/** The extended result code ("SQLITE_FULL") of a SQLite error, if it is one. */
function sqliteCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = (error as Error & { code?: unknown }).code;
  return typeof code === "string" && code.startsWith("SQLITE_") ? code : undefined;
}

type Method = (request: never, context: never) => unknown;

/** The same service; when the database refuses, its callers learn why. */
export function withCallFailures<Service extends object>(service: Service): Service {
  const wrapped = Object.entries(service as Record<string, Method>).map(([name, method]) => [
    name,
    (request: never, context: never) => {
      const outcome = method(request, context);
      if (isAsyncIterable(outcome)) return translateStream(outcome);
      return Promise.resolve(outcome).catch((error) => {
        throw toCallFailure(error);
      });
    },
  ]);
  return Object.fromEntries(wrapped) as Service;
}

async function* translateStream(messages: AsyncIterable<unknown>): AsyncIterable<unknown> {
  try {
    yield* messages;
  } catch (error) {
    throw toCallFailure(error);
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
