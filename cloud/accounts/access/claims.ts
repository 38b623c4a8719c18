/** Claim that names the secret, or the session, a token was given for. */
export const SECRET_CLAIM = "secret";
/** Claim with the time when a token was issued, milliseconds since 1970. */
export const ISSUED_CLAIM = "issued";
