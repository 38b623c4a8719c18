/** What is known of the time: pure, so that jumps of the clock are tested as tables. */
export interface TimeState {
  /** The time that counts, milliseconds since 1970. */
  readonly steadyMs: number;
  /** Another time that the host's clock shows, and for how long it has moved on steadily. */
  readonly other?: { readonly wallMs: number; readonly forMs: number } | undefined;
}

/** A clock that is off by less is corrected silently; so is a cloud that was off for a day. */
const JUMP_MS = 24 * 60 * 60_000;
/** For so long another time has to be steady until it counts. */
export const SETTLED_MS = 24 * 60 * 60_000;
/** What a steady clock may differ between two looks. */
const STEADY_MS = 10 * 60_000;

/** The state once the monotonic clock moved on by `elapsedMs` and the host's clock shows `wallMs`. */
export function nextTime(
  { steadyMs, other }: TimeState,
  { wallMs, elapsedMs }: { readonly wallMs: number; readonly elapsedMs: number },
): TimeState {
  const expectedMs = steadyMs + elapsedMs;
  if (Math.abs(wallMs - expectedMs) <= JUMP_MS) return { steadyMs: wallMs };
  const isSteady = other && Math.abs(wallMs - other.wallMs - elapsedMs) <= STEADY_MS;
  const forMs = isSteady ? other.forMs + elapsedMs : 0;
  if (forMs >= SETTLED_MS) return { steadyMs: wallMs };
  return { steadyMs: expectedMs, other: { wallMs, forMs } };
}

/** The state of a process that starts with what the one before left; how long it was off is unknown. */
export function timeAtStart(kept: TimeState | undefined, wallMs: number): TimeState {
  if (kept === undefined || Math.abs(wallMs - kept.steadyMs) <= JUMP_MS) {
    return { steadyMs: wallMs };
  }
  const { other } = kept;
  const isSteady = other && wallMs >= other.wallMs && wallMs - other.wallMs <= JUMP_MS;
  return { steadyMs: kept.steadyMs, other: { wallMs, forMs: isSteady ? other.forMs : 0 } };
}

/** What {@link TimeState} was kept as, JSON; undefined for none and for what is no such text. */
export function parseTimeState(text: string | undefined): TimeState | undefined {
  try {
    const kept = JSON.parse(text ?? "null");
    return Number.isFinite(kept?.steadyMs) ? kept : undefined;
  } catch {
    return undefined; // as if it had never run
  }
}
