/** The calculations of a motor with an encoder; revolutions and seconds. */
import type { ControlParameters } from "./motor_attributes.ts";

/** What {@link PositionControl} is to do. */
export interface Goal {
  /** Revolutions a minute, with a sign; may change on the way. */
  rpm: number;
  /** Where to end; undefined: never. Revolutions. */
  readonly target: number | undefined;
}

export interface PositionControlOptions {
  /** Turns a minute at full power; undefined when nobody knows. */
  readonly maxRpm: number | undefined;
  readonly parameters: ControlParameters | undefined;
  /** Part of the speed that is gained in 50 ms. */
  readonly rampRate: number;
}

const RAMP_SECONDS = 0.05;
/** The sum of what was behind gives this much power at most. */
const MOST_SUMMED = 1;

/**
 * Moves a wanted position with a ramp up and down, and gives the power that keeps the motor there.
 */
export class PositionControl {
  #wanted: number;
  #speed = 0;
  #sum = 0;
  #behind = 0;

  constructor(
    private readonly goal: Goal,
    private readonly options: PositionControlOptions,
    position: number,
  ) {
    this.#wanted = position;
  }

  /** The wanted position has arrived at the target. */
  get arrived(): boolean {
    return this.#wanted === this.goal.target;
  }

  /**
   * A step.
   *
   * @param position of the motor, in revolutions.
   * @returns power, -1 to 1.
   */
  step(position: number, seconds: number): number {
    this.#advance(seconds);
    const { maxRpm, parameters } = this.options;
    const { p = 2, i = 2, d = 0 } = parameters ?? {};
    const behind = this.#wanted - position;
    const change = seconds > 0 ? (behind - this.#behind) / seconds : 0;
    this.#behind = behind;
    const ahead = maxRpm === undefined ? 0 : this.#speed * 60 / maxRpm;
    const most = i > 0 ? MOST_SUMMED / i : 0;
    this.#sum = Math.max(-most, Math.min(most, this.#sum + behind * seconds));
    const power = ahead + p * behind + i * this.#sum + d * change;
    // A motor at its limit cannot catch up: what it is behind must not grow without end.
    if (Math.abs(power) > 1 && !this.arrived) {
      this.#wanted -= Math.sign(power) *
        Math.min(Math.abs(behind), Math.abs(this.#speed) * seconds);
    }
    return Math.max(-1, Math.min(1, power));
  }

  /** Moves the wanted position. Revolutions a second. */
  #advance(seconds: number): void {
    const { rpm, target } = this.goal;
    const most = Math.abs(rpm) / 60;
    const gain = most * this.options.rampRate / RAMP_SECONDS;
    if (target === undefined) {
      const missing = rpm / 60 - this.#speed;
      this.#speed += Math.sign(missing) * Math.min(Math.abs(missing), gain * seconds);
      this.#wanted += this.#speed * seconds;
      return;
    }
    const left = target - this.#wanted;
    const size = Math.min(
      most,
      Math.abs(this.#speed) + gain * seconds,
      Math.sqrt(2 * gain * Math.abs(left)),
    );
    const step = size * seconds;
    // The last bit of a ramp would take without end.
    if (step >= Math.abs(left) || Math.abs(left) < 1e-6) {
      this.#wanted = target;
      this.#speed = 0;
      return;
    }
    this.#speed = Math.sign(left) * size;
    this.#wanted += this.#speed * seconds;
  }
}

/** Notices that a motor with power does not turn that way. */
export class StallWatch {
  #position: number | undefined;
  #sinceMs = 0;
  #sign = 0;
  #power = 0;

  /**
   * @param timeoutMs without a tick.
   * @param tick the least that an encoder sees, in revolutions.
   */
  constructor(private readonly timeoutMs: number, private readonly tick: number) {}

  /**
   * @param leastRpm the speed that is wanted; a slow motor has more time.
   * @returns what is wrong; undefined while all is well.
   */
  check(
    nowMs: number,
    position: number,
    power: number,
    leastRpm: number,
  ): string | undefined {
    const sign = Math.sign(power);
    if (this.timeoutMs === 0) return undefined;
    if (sign === 0 || sign !== this.#sign || this.#position === undefined) {
      this.#begin(nowMs, position, sign);
    } else if ((position - this.#position) * sign >= this.tick) {
      this.#begin(nowMs, position, sign);
    }
    this.#power = power;
    const ticksAMinute = leastRpm / this.tick;
    const limitMs = Math.max(this.timeoutMs, ticksAMinute > 0 ? 3 * 60_000 / ticksAMinute : 0);
    if (sign === 0 || nowMs - this.#sinceMs < limitMs) return undefined;
    const percent = `${Math.round(Math.abs(this.#power) * 100)} % power`;
    const seconds = `${(limitMs / 1_000).toFixed(1)} s`;
    return (position - this.#position!) * sign <= -4 * this.tick
      ? `it turned the other way than it was powered for ${seconds} at ${percent}; swap the ` +
        "encoder's lines, or set dir_flip"
      : `it stalled: its encoder did not move for ${seconds} at ${percent}; see what blocks the ` +
        "motor, its supply and the wires of motor and encoder";
  }

  #begin(nowMs: number, position: number, sign: number): void {
    this.#sinceMs = nowMs;
    this.#position = position;
    this.#sign = sign;
  }
}
