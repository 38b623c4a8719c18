/** How fast a request must come, once it was begun. */
export interface Pace {
  /** Milliseconds for a call that needs no token, or is not decided yet, whatever its length. */
  readonly openMs: number;
  /** Milliseconds for each message of others, and bytes that earn one more. */
  readonly graceMs: number;
  readonly bytesPerMs: number;
}

/** Sign-in from the slowest link; a message at 8 kbit/s, a poor radio link. */
export const PACE: Pace = { openMs: 10_000, graceMs: 30_000, bytesPerMs: 1 };
