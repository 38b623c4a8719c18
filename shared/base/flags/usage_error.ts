/** The command line is wrong. The message is one or two lines for the person who typed it. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** What the process ends with. */
  readonly exitCode = 2;
}
