/** Whatever was thrown, as an error with a message that is not empty. */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(String(thrown) || "unknown error");
}
