import type { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import type { Used } from "../drivers/dependency.ts";
import type { GpioMotorAttributes } from "./motor_attributes.ts";

/** Less than this is no power. */
const LEAST_POWER = 0.001;

/** Power of a motor through the pins of its driver. */
export class MotorPins {
  /** What callers want, and what the pins have; -1 to 1. */
  #wanted = 0;
  #applied: number | undefined;
  #direction = 0;
  #applying: Promise<void> | undefined;

  constructor(
    private readonly board: Used<typeof BoardService>,
    private readonly attributes: Omit<GpioMotorAttributes, "board">,
  ) {}

  /** Sets the frequency of the pulses, where one is configured, and switches off. */
  async begin(): Promise<void> {
    const { pins: { a, b, pwm }, pwm_freq } = this.attributes;
    if (pwm_freq !== undefined) {
      for (const pin of pwm === undefined ? [a!, b!] : [pwm]) {
        await this.board.call("setPWMFrequency", { pin, frequencyHz: BigInt(pwm_freq) });
      }
    }
    await this.set(0);
  }

  /** Power that the pins have or are about to have, -1 to 1. */
  get power(): number {
    return this.#wanted;
  }

  /**
   * Sets the power; of several that wait for a slow board the last one counts.
   *
   * @param power -1 to 1; limits of the attributes apply.
   * @returns when the pins have it, or a newer one. @throws what the board threw.
   */
  set(power: number): Promise<void> {
    const { min_power_pct: least = 0, max_power_pct: most = 1 } = this.attributes;
    const size = Math.abs(power);
    this.#wanted = size < LEAST_POWER
      ? 0
      : Math.sign(power) * Math.min(most, 1, Math.max(least, size));
    return this.#applying ??= this.#apply();
  }

  async #apply(): Promise<void> {
    // Not within the same turn: the promise must be kept before this ends.
    await Promise.resolve();
    try {
      while (this.#applied !== this.#wanted) {
        const power = this.#wanted;
        this.#applied = undefined; // unknown, should the board fail halfway
        await this.#write(power);
        this.#applied = power;
      }
    } finally {
      this.#applying = undefined;
    }
  }

  async #write(power: number): Promise<void> {
    const { pins, dir_flip = false } = this.attributes;
    const { a, b, dir, pwm, en_high, en_low } = pins;
    const size = Math.abs(power);
    const direction = Math.sign(power) * (dir_flip ? -1 : 1);
    const turnsBack = direction !== 0 && direction !== this.#direction;
    // Without power first: a bridge must not be switched over under load.
    if (turnsBack) await this.#duty(0);
    if (dir !== undefined) {
      if (turnsBack) await this.#level(dir, direction > 0);
    } else if (pwm !== undefined) {
      await this.#level(a!, direction > 0);
      await this.#level(b!, direction < 0);
    }
    if (direction !== 0) this.#direction = direction;
    if (size === 0) await this.#duty(0);
    else if (pwm !== undefined) await this.#pulse(pwm, size);
    else await this.#pulse(direction > 0 ? a! : b!, size);
    if (en_high !== undefined) await this.#level(en_high, size > 0);
    if (en_low !== undefined) await this.#level(en_low, size === 0);
  }

  async #duty(part: number): Promise<void> {
    const { a, b, pwm } = this.attributes.pins;
    if (pwm !== undefined) return await this.#pulse(pwm, part);
    await this.#pulse(a!, part);
    await this.#pulse(b!, part);
  }

  async #pulse(pin: string, dutyCyclePct: number): Promise<void> {
    await this.board.call("setPWM", { pin, dutyCyclePct });
  }

  async #level(pin: string, high: boolean): Promise<void> {
    await this.board.call("setGPIO", { pin, high });
  }
}
