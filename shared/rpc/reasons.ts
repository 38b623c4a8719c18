/** Why calls fail, for programs: `google.rpc.ErrorInfo` in the details of an error. */
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorInfoSchema } from "../gen/google/rpc/error_details_pb.ts";

/** The `domain` of the reasons below. */
const REASON_DOMAIN = "machine-cloud";

/** Each reason with the names of its values. Programs rely on both: they are added to, not changed. */
export const REASONS = {
  ADDRESS_UNVERIFIED: [],
  ARCHIVE_OF_OTHER: ["name"],
  ARCHIVE_WRONG: ["file"],
  ARGUMENT_INVALID: ["key"],
  BOXES_WRONG: ["wrong", "boxes"],
  CALL_SLOW: [],
  CHANGED_MEANWHILE: [],
  CODES_WRONG: [],
  CODE_NOT_OF_NOW: [],
  CODE_WRONG: [],
  COLUMNS_MANY: ["most"],
  COMMANDS_WAIT: ["most"],
  CONFIG_REFUSED: ["problem"],
  COUNT_INVALID: ["least"],
  DATASET_OF_SEQUENCES: ["name"],
  DATASET_SMALL: ["images", "least"],
  DATASET_UNLABELLED: ["labelled", "images", "least"],
  DESCRIPTION_NEEDED: [],
  DISK_FULL: [],
  DOMAIN_REFUSED: ["domains"],
  EMAIL_INVALID: ["email"],
  ENTRYPOINT_NEEDED: [],
  FILE_GONE: ["id"],
  FRAGMENT_REFUSED: ["problem"],
  FRAGMENT_TAG_INVALID: ["tag"],
  IDENTITY_OTHER: [],
  IDENTITY_TAKEN: [],
  INTERNAL: ["id"],
  INVITATIONS_WAIT: ["most"],
  INVITATION_OVER: [],
  INVITED_ALREADY: ["email"],
  IN_USE: ["name", "users"],
  ISSUER_AWAY: ["name"],
  ISSUER_FAILED: ["name"],
  KEY_OF_TRAINING: [],
  KEY_TOO_STRONG: [],
  KEY_WRONG: [],
  LABELS_FEW: ["least"],
  LABELS_UNUSED: ["labels"],
  LABEL_INVALID: ["label", "most"],
  LAST_OWNER: [],
  LIMIT_REACHED: ["most"],
  LINK_OF_OTHER: ["email", "link_email"],
  LINK_OVER: [],
  LOCATION_NOT_EMPTY: ["name", "content"],
  LOCATION_TOO_DEEP: ["most"],
  LOCATION_WITHIN_ITSELF: ["name"],
  MAIL_REFUSED: ["problem"],
  MEMBER_ALREADY: ["email"],
  META_WRONG: [],
  MISSING: ["field"],
  MODEL_EXISTS: ["name", "version"],
  NAMESPACE_NEEDED: [],
  NAME_INVALID: ["name", "most"],
  NAME_TAKEN: ["name"],
  NAME_UNKNOWN: ["name"],
  NOT_CONNECTED: [],
  NOT_FOUND: ["id"],
  NOT_GZIP: [],
  NOT_INVITED: ["email"],
  NO_CONNECTION: [],
  NO_MAIL: [],
  NO_ROLLOUT: ["version"],
  NUL_CHARACTER: [],
  NUMBER_INVALID: ["least", "most"],
  OFFLINE: [],
  OPERATOR_NEEDED: [],
  OTHER_ORGANIZATION: ["name"],
  OWNER_NEEDED: [],
  PASSWORD_FIRST: [],
  PASSWORD_IS_ADDRESS: [],
  PASSWORD_LONG: ["most"],
  PASSWORD_SHORT: ["least"],
  PASSWORD_SIMPLE: [],
  PATH_INVALID: ["path"],
  PERSON_NEEDED: [],
  PROGRAM_LINK_WRONG: [],
  PROGRAM_OTHER_PLATFORM: ["platform"],
  QUERY_LARGE: [],
  QUERY_SLOW: ["seconds"],
  QUERY_WRONG: ["problem"],
  QUOTA_REACHED: ["bytes"],
  RELEASE_IN_USE: ["version", "users"],
  RELEASE_KEY_UNUSABLE: [],
  RELEASE_ON_CHANNEL: ["version", "channel"],
  RELEASE_THERE: ["version"],
  RIGHT_MISSING: [],
  ROLE_PRESENT: ["role"],
  SAVED_MEANWHILE: ["at"],
  SCHEMA_INVALID: ["name"],
  SESSION_OVER: [],
  SIGN_IN_OVER: [],
  SIGN_IN_WRONG: [],
  STORAGE_AWAY: [],
  TAG_INVALID: ["tag", "most"],
  TITLE_INVALID: ["most"],
  TOO_LARGE: ["most"],
  TOO_LONG: ["most"],
  TOO_MANY: ["most"],
  TOO_MANY_ATTEMPTS: [],
  TOO_MUCH_MATCHES: ["most"],
  TRAININGS_UNFINISHED: ["most"],
  TRAINING_OFF: [],
  TRIGGER_NOBODY: ["name"],
  TRIGGER_UNUSABLE: ["problem"],
  TRIPLET_INVALID: ["text", "example"],
  TRY_LATER: [],
  UPLOAD_CUT: [],
  VERSION_EXISTS: ["name", "version", "platform"],
  VERSION_FORM: ["version"],
  VERSION_INVALID: ["version"],
  VERSION_UNKNOWN: ["version"],
  WEB_ADDRESS_INVALID: ["url"],
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
