/** Installing or removing failed: one line for the operator. */
export class InstallError extends Error {
  override readonly name = "InstallError";
}
