import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import type { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import type { Used } from "../drivers/dependency.ts";
import { finite, Motion } from "../drivers/motion.ts";
import type { GpioStepperAttributes } from "./motor_attributes.ts";

/** Microseconds from step to step; the event loop cannot do less evenly. */
const SHORTEST_US = 2_000;

export interface GpioStepperOptions {
  readonly board: Used<typeof BoardService>;
  readonly attributes: GpioStepperAttributes;
  readonly clock: Clock;
  readonly log: Logger;
}

/** See {@link gpioStepperModel}. Its position is the number of steps that it was sent. */
export class GpioStepper implements Driver<typeof MotorService> {
  readonly #motion = new Motion();
  /** Steps since the start; and those at position 0. */
  #steps = 0;
  #zero = 0;
  /** -1 to 1. */
  #power = 0;
  /** How many commands came. */
  #commands = 0;
  /** Why it was stopped; until it is moved again. */
  #problem: string | undefined;
  /** Why it cannot be switched off; until it could. */
  #stuck: string | undefined;

  private constructor(private readonly options: GpioStepperOptions) {}

  /** @throws when the pins cannot be used. */
  static async create(options: GpioStepperOptions): Promise<GpioStepper> {
    const stepper = new GpioStepper(options);
    await stepper.#level("step", false);
    await stepper.#enable(false);
    return stepper;
  }

  async setPower({ powerPct }: { powerPct: number }) {
    const power = Math.max(-1, Math.min(1, finite(powerPct, "power_pct")));
    if (!await this.#halted()) return {};
    this.#problem = undefined;
    if (power !== 0) this.#run(power * this.#mostRpm);
    return {};
  }

  async setRPM({ rpm }: { rpm: number }) {
    if (await this.#halted()) this.#run(this.#speed(rpm));
    return {};
  }

  async goFor({ rpm, revolutions }: { rpm: number; revolutions: number }, call: CallContext) {
    const speed = this.#speed(rpm);
    const way = Math.sign(speed) * finite(revolutions, "revolutions");
    if (revolutions === 0) this.#run(speed);
    else await this.#turn(Math.abs(speed), Math.round(way * this.#perTurn), call);
    return {};
  }

  async goTo(
    { rpm, positionRevolutions }: { rpm: number; positionRevolutions: number },
    call: CallContext,
  ) {
    const target = Math.round(finite(positionRevolutions, "position_revolutions") * this.#perTurn);
    await this.#turn(Math.abs(this.#speed(rpm)), target - (this.#steps - this.#zero), call);
    return {};
  }

  resetZeroPosition({ offset }: { offset: number }) {
    this.#zero = this.#steps + Math.round(finite(offset, "offset") * this.#perTurn);
    return {};
  }

  getPosition() {
    return { position: (this.#steps - this.#zero) / this.#perTurn };
  }

  getProperties() {
    return { positionReporting: true };
  }

  isPowered() {
    return { isOn: this.#power !== 0, powerPct: this.#power };
  }

  isMoving() {
    return { isMoving: this.#power !== 0 };
  }

  getStatus() {
    const problem = this.problem();
    return {
      is_powered: this.#power !== 0,
      is_moving: this.#power !== 0,
      ...this.getPosition(),
      ...(problem !== undefined && { error: problem }),
    };
  }

  problem(): string | undefined {
    return this.#stuck ?? this.#problem;
  }

  async stop(): Promise<void> {
    this.#commands++;
    this.#motion.end();
    this.#power = 0;
    await this.#enable(false);
  }

  async close(): Promise<void> {
    await this.stop();
  }

  get #perTurn(): number {
    return this.options.attributes.ticks_per_rotation;
  }

  get #mostRpm(): number {
    const delayUs = Math.max(SHORTEST_US, this.options.attributes.stepper_delay_usec ?? 0);
    return 60_000_000 / delayUs / this.#perTurn;
  }

  #speed(rpm: number): number {
    const most = this.#mostRpm;
    if (Number.isFinite(rpm) && rpm !== 0 && Math.abs(rpm) <= most * 1.0001) return rpm;
    throw new ConnectError(
      `cannot move at ${rpm} RPM; the speed is more than 0 and at most ${most.toFixed(2)} RPM ` +
        "(stepper_delay_usec and ticks_per_rotation)",
      Code.InvalidArgument,
    );
  }

  /** Stops; false when another command came meanwhile, which counts. */
  async #halted(): Promise<boolean> {
    const stopped = this.stop();
    const command = this.#commands;
    await stopped;
    return command === this.#commands;
  }

  #run(rpm: number): void {
    this.#commands++;
    this.#motion.start(
      (signal) => this.#move(Math.abs(rpm), Math.sign(rpm) * Infinity, signal),
      () => this.stop(),
      (error) => {
        this.#problem = reasonOf(error);
        this.options.log.error(`the motor was stopped: ${this.#problem}`, {
          event: "motion_stopped",
        });
      },
    );
  }

  async #turn(rpm: number, steps: number, call: CallContext): Promise<void> {
    this.#commands++;
    if (steps === 0) return;
    try {
      await this.#motion.run(call, (signal) => this.#move(rpm, steps, signal), () => this.stop());
    } catch (error) {
      if (!call.signal.aborted) this.#problem = reasonOf(error);
      throw error;
    }
  }

  async #move(rpm: number, steps: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const direction = Math.sign(steps);
    const periodMs = 60_000 / rpm / this.#perTurn;
    this.#problem = undefined;
    this.#power = direction * Math.min(1, rpm / this.#mostRpm);
    await this.#level("dir", direction > 0);
    signal.throwIfAborted();
    await this.#enable(true);
    let dueMs = clock.monotonicMs();
    for (let left = Math.abs(steps); left > 0; left--) {
      signal.throwIfAborted();
      await this.#level("step", true);
      await this.#level("step", false);
      this.#steps += direction;
      // Steps that come late are not made up for: the motor would lose them.
      dueMs = Math.max(dueMs + periodMs, clock.monotonicMs());
      await clock.sleep(dueMs - clock.monotonicMs(), signal);
    }
    this.#power = 0;
    await this.#enable(false);
  }

  async #enable(on: boolean): Promise<void> {
    const { en_high, en_low } = this.options.attributes.pins;
    try {
      if (en_high !== undefined) await this.#level("en_high", on);
      if (en_low !== undefined) await this.#level("en_low", !on);
      if (!on) this.#stuck = undefined;
    } catch (error) {
      // It may hold its position with full current.
      if (!on) this.#stuck = reasonOf(error);
      throw error;
    }
  }

  async #level(pin: "step" | "dir" | "en_high" | "en_low", high: boolean): Promise<void> {
    const name = this.options.attributes.pins[pin]!;
    await this.options.board.call("setGPIO", { pin: name, high });
  }
}
