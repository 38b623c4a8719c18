/** What edges of two lines, a quarter of a cycle apart, say of a turn. */

/** An edge of a line. */
export interface Level {
  readonly pinName: string;
  readonly high: boolean;
}

/** Quarters of a cycle since the state before, by both: `before * 4 + now`; undefined: a jump. */
const STEPS: readonly (number | undefined)[] = (() => {
  // Levels of A and B (A is bit 1) through a cycle forward.
  const cycle = [0b00, 0b10, 0b11, 0b01];
  return Array.from({ length: 16 }, (_, index) => {
    const way = (cycle.indexOf(index & 3) - cycle.indexOf(index >> 2) + 4) % 4;
    return way === 0 ? 0 : way === 1 ? 1 : way === 3 ? -1 : undefined;
  });
})();

/**
 * Counts half a tick for each edge, so that a cycle has two ticks.
 *
 * @returns a function that gives the ticks of an edge: ±0.5; 0 when an edge was lost, for that says
 * nothing of the direction.
 */
export function quadrature(pins: { a: string; b: string }): (edge: Level) => number {
  let state: number | undefined;
  return ({ pinName, high }) => {
    const bit = pinName === pins.a ? 0b10 : 0b01;
    // An edge says what the line was before; of the other line it is taken to have been low.
    const before = state ?? (high ? 0 : bit);
    const now = high ? before | bit : before & ~bit;
    state = now;
    return (STEPS[before * 4 + now] ?? 0) / 2;
  };
}
