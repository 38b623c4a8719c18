/** Claim that names the secret, or the session, a token was given for. */
export const SECRET_CLAIM = "secret";
/** Claim that tells when a token was issued, milliseconds since 1970. */
export const ISSUED_CLAIM = "issued";
