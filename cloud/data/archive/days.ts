/** Microseconds. */
export const DAY_US = 24 * 3_600 * 1_000_000;

/** The day of a time: days since 1970. */
export function dayOf(us: number): number {
  return Math.floor(us / DAY_US);
}
