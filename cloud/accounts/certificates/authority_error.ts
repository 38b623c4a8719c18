/** A certificate authority cannot be used; the message says what to do. */
export class AuthorityError extends Error {
  override readonly name = "AuthorityError";
}
