/** Why calls fail, for programs: `google.rpc.ErrorInfo` in the details of an error. */
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.ts";

/** The `domain` of the reasons below. */
const REASON_DOMAIN = "machine-cloud";

/** Each reason with the names of its values. Programs rely on both: they are added to, not changed. */
export const REASONS = {
  CODES_WRONG: [],
  CODE_WRONG: [],
  COMMANDS_WAIT: ["most"],
  CONFIG_REFUSED: ["problem"],
  DATASET_SMALL: ["images", "least"],
  DATASET_UNLABELLED: ["labelled", "images", "least"],
  DESCRIPTION_NEEDED: [],
  DISK_FULL: [],
  EMAIL_INVALID: ["email"],
  FRAGMENT_REFUSED: ["problem"],
  INVITATIONS_WAIT: ["most"],
  INVITATION_OVER: [],
  INVITED_ALREADY: ["email"],
  IN_USE: ["name", "users"],
  KEY_TOO_STRONG: [],
  LABELS_FEW: ["least"],
  LAST_OWNER: [],
  LINK_OF_OTHER: ["email", "link_email"],
  LINK_OVER: [],
  LOCATION_NOT_EMPTY: ["name", "content"],
  LOCATION_TOO_DEEP: ["most"],
  LOCATION_WITHIN_ITSELF: ["name"],
  MEMBER_ALREADY: ["email"],
  MODEL_EXISTS: ["name", "version"],
  NAMESPACE_NEEDED: [],
  NAME_INVALID: ["name"],
  NAME_TAKEN: ["name"],
  NOT_FOUND: ["id"],
  NO_MAIL: [],
  OWNER_NEEDED: [],
  PASSWORD_FIRST: [],
  PASSWORD_IS_ADDRESS: [],
  PASSWORD_LONG: ["most"],
  PASSWORD_SHORT: ["least"],
  PASSWORD_SIMPLE: [],
  PERSON_NEEDED: [],
  QUERY_SLOW: ["seconds"],
  QUERY_WRONG: ["problem"],
  QUOTA_REACHED: ["bytes"],
  RIGHT_MISSING: [],
  SAVED_MEANWHILE: ["at"],
  SIGN_IN_WRONG: [],
  TOO_MANY_ATTEMPTS: [],
  TRAININGS_UNFINISHED: ["most"],
  TRIGGER_UNUSABLE: ["problem"],
  TRY_LATER: [],
  VERSION_EXISTS: ["name", "version", "platform"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Reason = keyof typeof REASONS;
export type ReasonValues<R extends Reason = Reason> = Readonly<
  Record<typeof REASONS[R][number], string | number>
>;

/** A reason as it came. */
export interface ReasonGiven {
  readonly reason: Reason;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * An error with a reason.
 *
 * @param message for people, in English
 * @param cause for the log of this process
 */
export function refusal<R extends Reason>(
  reason: R,
  values: ReasonValues<R>,
  message: string,
  code: Code,
  cause?: unknown,
): ConnectError {
  const metadata = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, String(value)]),
  );
  const detail = { desc: ErrorInfoSchema, value: { reason, domain: REASON_DOMAIN, metadata } };
  return new ConnectError(message, code, undefined, [detail], cause);
}

/** The reason of an error, here or from afar; undefined: it has none that is known. */
export function reasonOf(error: ConnectError): ReasonGiven | undefined {
  const info = error.findDetails(ErrorInfoSchema).find(({ domain }) => domain === REASON_DOMAIN);
  if (!info || !isReason(info.reason)) return undefined;
  return { reason: info.reason, values: info.metadata };
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(REASONS, text);
}
