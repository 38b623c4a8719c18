/** Largest message either way: 32 MiB, the limit of the public protocol. */
export const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

/** Largest message of a call that needs no token, inflated: sign-in, health, reflection, signalling. */
export const OPEN_MESSAGE_BYTES = 64 * 1024;

/** How long a unary call may take when its caller set no deadline (the reference's default). */
export const DEFAULT_CALL_DEADLINE_MS = 10 * 60_000;
