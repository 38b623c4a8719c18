import { Code, ConnectError } from "@connectrpc/connect";
import { FileError } from "../../../shared/base/files/fs_error.ts";
import { toCallFailure } from "../../storage/database/call_failures.ts";

/** Why a job failed. */
export interface JobFailure {
  readonly code: Code;
  /** For people. */
  readonly reason: string;
  /** A fault of this cloud: its operator finds the error in the log. */
  readonly isOwnFault: boolean;
}

const DISK_FULL = "the cloud's disk is full. Free space there and submit the job again";

/** A run cannot continue; the message is the reason for people. */
export class JobError extends Error {
  override readonly name = "JobError";

  constructor(readonly code: Code, message: string) {
    super(message);
  }
}

/** What is reported of an error, without what only the operator is to know, such as paths. */
export function toJobFailure(error: unknown): JobFailure {
  const known = toCallFailure(error);
  if (known instanceof JobError) {
    return { code: known.code, reason: known.message, isOwnFault: false };
  }
  if (known instanceof ConnectError) {
    return { code: known.code, reason: known.rawMessage, isOwnFault: false };
  }
  if (known instanceof FileError && ["ENOSPC", "EDQUOT"].includes(known.code)) {
    return { code: Code.ResourceExhausted, reason: DISK_FULL, isOwnFault: true };
  }
  const reason = "a fault of the cloud, not of the script or the dataset; the log of the cloud " +
    "has the details for its operator. Submit the job again";
  return { code: Code.Internal, reason, isOwnFault: true };
}
