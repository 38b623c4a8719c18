import { FragmentErrorType } from "../../../shared/gen/viam/app/v1/app_pb.ts";

/**
 * `invalid`: what the configuration specifies of the fragment cannot be; `variable`: it gives none
 * that the fragment needs.
 */
export type FragmentProblemKind =
  | "no-access"
  | "nesting"
  | "not-found"
  | "cycle"
  | "variable"
  | "invalid";

/** Why a fragment cannot be put into a configuration. */
export class FragmentProblem extends Error {
  override readonly name = "FragmentProblem";

  constructor(
    readonly kind: FragmentProblemKind,
    /** Empty: of no one fragment. */
    readonly fragmentId: string,
    message: string,
  ) {
    super(message);
  }
}

/** How the public API names a problem. */
export const ERROR_TYPES: Readonly<Record<FragmentProblemKind, FragmentErrorType>> = {
  "no-access": FragmentErrorType.NO_ACCESS,
  nesting: FragmentErrorType.NESTING_LIMIT_EXCEEDED,
  "not-found": FragmentErrorType.CHILD_ID_INVALID,
  cycle: FragmentErrorType.CYCLE_DETECTED,
  variable: FragmentErrorType.UNSPECIFIED,
  invalid: FragmentErrorType.UNSPECIFIED,
};
