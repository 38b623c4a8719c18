import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { EncoderService } from "../../../shared/gen/viam/component/encoder/v1/encoder_pb.ts";
import type { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { measuring, type Used } from "../drivers/dependency.ts";
import { finite, Motion } from "../drivers/motion.ts";
import { Lateness, runLoop } from "./control_loop.ts";
import type { GpioMotorAttributes } from "./motor_attributes.ts";
import type { MotorPins } from "./motor_pins.ts";
import { type Goal, PositionControl, StallWatch } from "./position_control.ts";

/** Speeds below this are standing still. Turns a minute. */
const SLOWEST_RPM = 0.001;
const DEFAULT_STALL_MS = 1_000;
const DEFAULT_RAMP_RATE = 0.2;
/** A motor that has not arrived so long after it was due is off its target. Seconds. */
const SETTLE_SECONDS = 2;

/** An encoder that must know which way it is turned. */
interface DirectedEncoder {
  readonly needsDirection: boolean;
  setDirection(direction: 1 | -1): void;
}

export interface GpioMotorOptions {
  readonly pins: MotorPins;
  readonly encoder: Used<typeof EncoderService> | undefined;
  readonly attributes: Omit<GpioMotorAttributes, "board" | "pins" | "encoder">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** See {@link gpioMotorModel}. */
export class GpioMotor implements Driver<typeof MotorService> {
  readonly #motion = new Motion();
  readonly #lateness = new Lateness();
  readonly #directed: DirectedEncoder | undefined;
  /** Ticks at position 0. */
  #zero = 0;
  /** What the motor keeps, while it keeps a speed. */
  #kept: Goal | undefined;
  /** How many commands came. */
  #commands = 0;
  #problem: string | undefined;

  private constructor(private readonly options: GpioMotorOptions) {
    const encoder = options.encoder?.resource as Partial<DirectedEncoder> | undefined;
    if (encoder?.needsDirection) this.#directed = encoder as DirectedEncoder;
  }

  /** @throws when the pins cannot be used. */
  static async create(options: GpioMotorOptions): Promise<GpioMotor> {
    await options.pins.begin();
    const { encoder, clock } = options;
    return new GpioMotor({ ...options, encoder: encoder && measuring(encoder, clock) });
  }

  async setPower({ powerPct }: { powerPct: number }) {
    const power = Math.max(-1, Math.min(1, finite(powerPct, "power_pct")));
    this.#end();
    this.#problem = undefined;
    await this.#power(power);
    if (power !== 0 && this.options.encoder) this.#watch();
    return {};
  }

  async setRPM({ rpm }: { rpm: number }) {
    await this.#keepSpeed(speed(rpm));
    return {};
  }

  async goFor({ rpm, revolutions }: { rpm: number; revolutions: number }, call: CallContext) {
    const way = speed(rpm) * finite(revolutions, "revolutions");
    // Without an end when there are no revolutions to count.
    if (revolutions === 0) await this.#keepSpeed(rpm);
    else await this.#turn(Math.abs(rpm), Math.sign(way) * Math.abs(revolutions), call);
    return {};
  }

  async goTo(
    { rpm, positionRevolutions }: { rpm: number; positionRevolutions: number },
    call: CallContext,
  ) {
    const target = finite(positionRevolutions, "position_revolutions");
    speed(rpm);
    const start = await this.#start(call.signal);
    if (start === undefined || start === target) return {};
    await this.#turn(Math.abs(rpm), target - start, call);
    return {};
  }

  async resetZeroPosition({ offset }: { offset: number }, { signal }: CallContext) {
    const turns = finite(offset, "offset");
    this.#zero = await this.#ticks(signal) + turns * this.#ticksPerTurn;
    return {};
  }

  async getPosition(_request: object, { signal }: CallContext) {
    return { position: await this.#position(signal) };
  }

  getProperties() {
    return { positionReporting: this.options.encoder !== undefined };
  }

  isPowered() {
    const { power } = this.options.pins;
    return { isOn: power !== 0, powerPct: power };
  }

  isMoving() {
    return { isMoving: this.options.pins.power !== 0 || this.#motion.active };
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#power(0);
  }

  async getStatus(call: CallContext) {
    const loop = this.#lateness.summary();
    return {
      is_powered: this.options.pins.power !== 0,
      is_moving: this.isMoving().isMoving,
      ...(this.options.encoder && { position: await this.#position(call.signal) }),
      ...(this.#problem !== undefined && { error: this.#problem }),
      ...(loop && { control_loop: loop }),
    };
  }

  /** Why it was stopped; until it is moved again. */
  problem(): string | undefined {
    return this.#problem;
  }

  async close(): Promise<void> {
    await this.stop();
  }

  get #ticksPerTurn(): number {
    return this.options.attributes.ticks_per_rotation ?? 1;
  }

  /** @throws UNIMPLEMENTED without an encoder. */
  async #ticks(signal: AbortSignal): Promise<number> {
    const { encoder } = this.options;
    if (!encoder) {
      throw new ConnectError(
        "this motor has no encoder, so its position is not known; name one in the attributes",
        Code.Unimplemented,
      );
    }
    const { value } = await encoder.call("getPosition", { positionType: 1 }, signal);
    return Number(value ?? 0);
  }

  async #position(signal: AbortSignal): Promise<number> {
    return (await this.#ticks(signal) - this.#zero) / this.#ticksPerTurn;
  }

  /** Where a movement begins; undefined when another command came meanwhile, which counts. */
  async #start(signal: AbortSignal): Promise<number | undefined> {
    const command = ++this.#commands;
    const position = await this.#position(signal);
    return command === this.#commands ? position : undefined;
  }

  async #power(power: number): Promise<void> {
    if (power !== 0) this.#directed?.setDirection(power > 0 ? 1 : -1);
    await this.options.pins.set(power);
  }

  /** Turns until another command comes. */
  async #keepSpeed(rpm: number): Promise<void> {
    this.#problem = undefined;
    if (!this.options.encoder) {
      this.#end();
      return await this.#power(this.#share(rpm));
    }
    // A base that is steered sets speeds many times a second: the ramp continues from where it is.
    if (this.#kept) {
      this.#commands++;
      this.#kept.rpm = rpm;
      return;
    }
    const goal: Goal = { rpm, target: undefined };
    const start = await this.#start(new AbortController().signal);
    if (start === undefined) return;
    this.#background(async (signal) => {
      this.#kept = goal;
      try {
        await this.#control(goal, start, signal);
      } finally {
        if (this.#kept === goal) this.#kept = undefined;
      }
    });
  }

  /** Watches that a motor with power turns. */
  #watch(): void {
    const stalls = this.#stallWatch();
    this.#background((signal) =>
      runLoop(this.options.clock, signal, this.#lateness, async () => {
        stalls(await this.#position(signal), 0);
        return false;
      })
    );
  }

  #end(): void {
    this.#commands++;
    this.#kept = undefined;
    this.#motion.end();
  }

  #background(move: (signal: AbortSignal) => Promise<void>): void {
    this.#motion.start(move, () => this.#power(0), (error) => {
      this.#problem = reasonOf(error);
      this.options.log.error(`the motor was stopped: ${this.#problem}`, {
        event: "motion_stopped",
      });
    });
  }

  async #turn(rpm: number, revolutions: number, call: CallContext): Promise<void> {
    this.#problem = undefined;
    this.#end();
    const { encoder, clock } = this.options;
    const halt = () => this.#power(0);
    if (!encoder) {
      const power = this.#share(rpm) * Math.sign(revolutions);
      const most = this.options.attributes.max_rpm!;
      const seconds = Math.abs(revolutions) / Math.min(rpm, most) * 60;
      return await this.#motion.run(call, async (signal) => {
        await this.#power(power);
        await clock.sleep(seconds * 1_000, signal);
        await halt();
      }, halt);
    }
    const start = await this.#start(call.signal);
    if (start === undefined) return;
    const goal = { rpm: rpm * Math.sign(revolutions), target: start + revolutions };
    try {
      await this.#motion.run(call, (signal) => this.#control(goal, start, signal), halt);
    } catch (error) {
      if (!call.signal.aborted) this.#problem = reasonOf(error);
      throw error;
    }
  }

  /** The position loop. */
  async #control(goal: Goal, start: number, signal: AbortSignal): Promise<void> {
    const { attributes, clock } = this.options;
    const control = new PositionControl(goal, {
      maxRpm: attributes.max_rpm,
      parameters: attributes.control_parameters,
      rampRate: attributes.ramp_rate ?? DEFAULT_RAMP_RATE,
    }, start);
    const stalls = this.#stallWatch();
    const tick = 1 / this.#ticksPerTurn;
    let settling = 0;
    await runLoop(clock, signal, this.#lateness, async (seconds) => {
      const position = await this.#position(signal);
      signal.throwIfAborted();
      const off = goal.target === undefined ? Infinity : Math.abs(goal.target - position);
      if (control.arrived) {
        settling += seconds;
        if (off <= tick || settling > SETTLE_SECONDS) {
          await this.#power(0);
          if (off > Math.max(4 * tick, 0.02)) {
            throw new ConnectError(
              `the motor stopped ${
                off.toFixed(3)
              } revolutions off its target; give it more power ` +
                "for each revolution behind: control_parameters.p",
              Code.Aborted,
            );
          }
          return true;
        }
      }
      const power = control.step(position, seconds);
      await this.#power(power);
      if (off > 4 * tick) stalls(position, Math.abs(goal.rpm));
      return false;
    });
  }

  /** Throws when the motor has power and does not turn. */
  #stallWatch(): (position: number, rpm: number) => void {
    const { attributes, clock, pins } = this.options;
    const watch = new StallWatch(
      attributes.stall_timeout ?? DEFAULT_STALL_MS,
      1 / this.#ticksPerTurn,
    );
    return (position, rpm) => {
      const problem = watch.check(clock.monotonicMs(), position, pins.power, rpm);
      if (problem !== undefined) throw new ConnectError(problem, Code.Aborted);
    };
  }

  /** Part of full power that a speed takes. */
  #share(rpm: number): number {
    return Math.max(-1, Math.min(1, rpm / this.options.attributes.max_rpm!));
  }
}

/** @throws for standing still. */
function speed(rpm: number): number {
  if (Math.abs(rpm) >= SLOWEST_RPM && Number.isFinite(rpm)) return rpm;
  throw new ConnectError(
    `cannot move at ${rpm} RPM; name a speed of at least ${SLOWEST_RPM} RPM`,
    Code.InvalidArgument,
  );
}
