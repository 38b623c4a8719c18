/** Drives a base along a way, by what says where it is. */
import type { Clock } from "../../../shared/base/time/clock.ts";
import { distance, distanceToLine, type Point } from "./path.ts";

/** Where a base is; heading in degrees, clockwise from y. */
export interface Stand extends Point {
  readonly heading: number;
}

export interface DriveOptions {
  readonly clock: Clock;
  readonly look: (signal: AbortSignal) => Promise<Stand>;
  /** Metres and degrees a second; degrees counterclockwise. */
  readonly move: (forward: number, turn: number, signal: AbortSignal) => Promise<void>;
  readonly pollMs: number;
  readonly speed: number;
  readonly turnSpeed: number;
  /** Further off the way than this, it is left. Metres. */
  readonly deviation: number;
  /**
   * Whether it may drive on; throws when not. Default: it may.
   *
   * @param way from where it is to the end.
   */
  readonly check?: ((way: readonly Point[]) => void) | undefined;
}

/** So close to a point it is reached. Metres. */
const REACHED = 0.1;
/** A corner of the way may be rounded so far. Metres. */
const PASSED = 0.15;
/** Degrees. */
const FACING = 3;
/** With a greater difference it turns on the spot. Degrees. */
const TURN_ON_SPOT = 25;
const SLOWEST = 0.05;
const SLOWEST_TURN = 4;
/** It must come so far within that time, or turn so far: else it is held up. */
const STUCK = { meters: 0.05, degrees: 5, ms: 15_000 };

/** The base is not on its way any more. */
export class LeftPathError extends Error {
  override readonly name = "LeftPathError";
}

/**
 * Drives from where it is to each point, then turns to the heading.
 *
 * @throws {LeftPathError} when it is off the way; when it does not come forward; what look and move
 * throw. The base is left moving then.
 */
export async function drive(
  path: readonly Point[],
  heading: number | undefined,
  options: DriveOptions,
  signal: AbortSignal,
): Promise<void> {
  const progress = new Progress(options.clock);
  for (let next = 1; next < path.length; next++) {
    await reach(path[next - 1]!, path.slice(next), progress, options, signal);
  }
  if (heading !== undefined) await face(heading, progress, options, signal);
}

async function reach(
  from: Point,
  ahead: readonly Point[],
  progress: Progress,
  { clock, look, move, pollMs, speed, turnSpeed, deviation, check }: DriveOptions,
  signal: AbortSignal,
): Promise<void> {
  const to = ahead[0]!;
  const isLast = ahead.length === 1;
  while (true) {
    const at = await look(signal);
    const left = distance(at, to);
    if (left <= (isLast ? REACHED : PASSED)) return;
    const off = distanceToLine(at, from, to);
    if (off > deviation) {
      throw new LeftPathError(`it is ${off.toFixed(2)} m off its way; ${deviation} m are allowed`);
    }
    check?.([at, ...ahead]);
    progress.see(at);
    const bearing = Math.atan2(to.x - at.x, to.y - at.y) * 180 / Math.PI;
    const error = difference(bearing, at.heading);
    const turn = turning(error, turnSpeed, pollMs);
    // Slower before the end, and while it is not headed there.
    const fast = Math.min(speed, Math.max(SLOWEST, isLast ? left : speed));
    const forward = Math.abs(error) > TURN_ON_SPOT ? 0 : fast * Math.cos(error * Math.PI / 180);
    await move(forward, turn, signal);
    await clock.sleep(pollMs, signal);
  }
}

async function face(
  heading: number,
  progress: Progress,
  { clock, look, move, pollMs, turnSpeed }: DriveOptions,
  signal: AbortSignal,
): Promise<void> {
  while (true) {
    const at = await look(signal);
    const error = difference(heading, at.heading);
    if (Math.abs(error) <= FACING) return;
    progress.see(at);
    await move(0, turning(error, turnSpeed, pollMs), signal);
    await clock.sleep(pollMs, signal);
  }
}

/** So fast that it does not turn past what is wanted before the next look. */
function turning(error: number, turnSpeed: number, pollMs: number): number {
  if (Math.abs(error) < 1) return 0;
  const gentle = Math.max(SLOWEST_TURN, Math.abs(error) / Math.max(0.5, 2 * pollMs / 1_000));
  return -Math.sign(error) * Math.min(turnSpeed, gentle);
}

/** From one heading to another, -180 to 180. */
function difference(to: number, from: number): number {
  return ((to - from + 540) % 360 + 360) % 360 - 180;
}

class Progress {
  #last: Stand | undefined;
  #sinceMs = 0;

  constructor(private readonly clock: Clock) {}

  /** @throws when it does not come forward. */
  see(at: Stand): void {
    const now = this.clock.monotonicMs();
    const last = this.#last;
    if (
      !last || distance(last, at) >= STUCK.meters ||
      Math.abs(difference(last.heading, at.heading)) >= STUCK.degrees
    ) {
      this.#last = at;
      this.#sinceMs = now;
      return;
    }
    if (now - this.#sinceMs < STUCK.ms) return;
    throw new Error(`the base does not come forward: it has not moved for ${STUCK.ms / 1_000} s`);
  }
}
