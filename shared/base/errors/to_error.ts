/** Whatever was thrown, as an error with a message that is not empty. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(String(thrown) || "unknown error");
}

/** What a log says of something that was thrown: where an error has a stack, that. */
export function stackOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.stack ?? thrown.message : String(thrown);
}
