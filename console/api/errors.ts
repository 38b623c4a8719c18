import { Code, ConnectError } from "@connectrpc/connect";
import { reasonOf } from "../../shared/rpc/reasons.ts";
import { reasons } from "../../shared/rpc/reason_texts.ts";
import { errors } from "../texts/errors.ts";
import type { Text, Values } from "../texts/text.ts";

/** A failed call for a person: what is wrong, what to do, and the raw text for whoever helps. */
export interface Problem {
  readonly what: Text;
  /** Undefined where the reason says it. */
  readonly todo: Text | undefined;
  /** What the cloud reported, in English; empty where that adds nothing. */
  readonly said: string;
  /** The same in the languages of the catalogue, where the cloud gave a reason that is in it. */
  readonly reason: readonly [text: Text, values: Values] | undefined;
  /** For copying: code and message. */
  readonly raw: string;
  readonly code: Code | undefined;
}

const BY_CODE: Readonly<Partial<Record<Code, readonly [what: Text, todo: Text]>>> = {
  [Code.Unavailable]: [errors.unreachable, errors.unreachableDo],
  [Code.DeadlineExceeded]: [errors.timeout, errors.timeoutDo],
  [Code.PermissionDenied]: [errors.denied, errors.deniedDo],
  [Code.NotFound]: [errors.missing, errors.missingDo],
  [Code.Unauthenticated]: [errors.signedOut, errors.signedOutDo],
  [Code.InvalidArgument]: [errors.invalid, errors.invalidDo],
  [Code.OutOfRange]: [errors.invalid, errors.invalidDo],
  [Code.FailedPrecondition]: [errors.conflict, errors.conflictDo],
  [Code.Aborted]: [errors.conflict, errors.conflictDo],
  [Code.AlreadyExists]: [errors.exists, errors.existsDo],
  [Code.ResourceExhausted]: [errors.tooMuch, errors.tooMuchDo],
};

/** Many reasons share one of these, of which it says little, or the wrong thing. */
const VAGUE: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.DataLoss,
]);

/** Their reasons say themselves what to do. */
const ADVISED: ReadonlySet<Code> = new Set([
  Code.AlreadyExists,
  Code.FailedPrecondition,
  Code.Aborted,
]);

/** Says what a failure means. A call that never reached the cloud counts as unreachable. */
export function problemOf(error: unknown): Problem {
  const failure = ConnectError.from(error);
  const given = reasonOf(failure);
  const isNetwork = !given && isUnreachable(error);
  const code = isNetwork ? Code.Unavailable : failure.code;
  const [what, todo] = BY_CODE[code] ?? [errors.internal, errors.internalDo];
  return {
    what: given && VAGUE.has(code) ? errors.conflict : what,
    todo: given && (VAGUE.has(code) || ADVISED.has(code)) ? undefined : todo,
    // What this browser itself made of a network or a deadline says no more than the code.
    said: isNetwork || isTimeout(error) ? "" : failure.rawMessage,
    reason: given && [reasons[given.reason], given.values],
    raw: `${Code[failure.code]}: ${failure.rawMessage}`,
    code,
  };
}

/** The network, or something in between, failed: the same call may succeed later. */
export function isUnreachable(error: unknown): boolean {
  const { code, cause } = ConnectError.from(error);
  return code === Code.Unavailable || (code === Code.Unknown && cause instanceof TypeError);
}

/** The caller's session or key does not count any more. */
export function isSignedOut(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
}

/** The caller may not do that. */
export function isDenied(error: unknown): boolean {
  return ConnectError.from(error).code === Code.PermissionDenied;
}

/** Nothing answered in time. */
export function isTimeout(error: unknown): boolean {
  return ConnectError.from(error).code === Code.DeadlineExceeded;
}

/** This page cancelled the call. */
export function isCancelled(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Canceled ||
    (error instanceof DOMException && error.name === "AbortError");
}
