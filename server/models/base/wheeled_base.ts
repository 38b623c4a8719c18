import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import type { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import type { Used } from "../drivers/dependency.ts";
import { finite, Motion } from "../drivers/motion.ts";
import type { WheeledBaseAttributes } from "./base_attributes.ts";

type Motor = Used<typeof MotorService>;

/** A part of a vector. */
interface Vector {
  readonly x?: number;
  readonly y?: number;
  readonly z?: number;
}

/** What is requested of a base. */
export interface Wanted {
  readonly linear?: Vector | undefined;
  readonly angular?: Vector | undefined;
}

export interface WheeledBaseOptions {
  readonly left: readonly Motor[];
  readonly right: readonly Motor[];
  readonly attributes: WheeledBaseAttributes;
  readonly clock: Clock;
}

/** Speeds of the two sides, in any unit; positive is forward. */
export interface Sides {
  readonly left: number;
  readonly right: number;
}

/** See {@link wheeledBaseModel}. */
export class WheeledBase implements Driver<typeof BaseService> {
  readonly #motion = new Motion();

  constructor(private readonly options: WheeledBaseOptions) {}

  async moveStraight(
    { distanceMm, mmPerSec }: { distanceMm: bigint; mmPerSec: number },
    call: CallContext,
  ) {
    const { wheel_circumference_mm: around } = this.options.attributes;
    const turns = Number(distanceMm) / around;
    const rpm = finite(mmPerSec, "mm_per_sec") / around * 60;
    if (turns === 0 || rpm === 0) return await this.#stopped();
    await this.#goFor({ left: turns, right: turns }, rpm, call);
    return {};
  }

  async spin(
    { angleDeg, degsPerSec }: { angleDeg: number; degsPerSec: number },
    call: CallContext,
  ) {
    const turns = this.#turnsOf(finite(angleDeg, "angle_deg"));
    const rpm = this.#turnsOf(finite(degsPerSec, "degs_per_sec")) * 60;
    if (turns === 0 || rpm === 0) return await this.#stopped();
    await this.#goFor({ left: -turns, right: turns }, rpm, call);
    return {};
  }

  async setPower(wanted: Wanted) {
    const power = mixed(component(wanted.linear, "y"), component(wanted.angular, "z"));
    await this.#all(
      power,
      (motor, powerPct) => powerPct === 0 ? motor.stop() : motor.call("setPower", { powerPct }),
    );
    return {};
  }

  async setVelocity(wanted: Wanted) {
    const linear = component(wanted.linear, "y") / this.options.attributes.wheel_circumference_mm;
    const angular = this.#turnsOf(component(wanted.angular, "z"));
    // Turns a second.
    const sides = { left: linear - angular, right: linear + angular };
    await this.#all(
      sides,
      (motor, turns) => turns === 0 ? motor.stop() : motor.call("setRPM", { rpm: turns * 60 }),
    );
    return {};
  }

  async stop(): Promise<void> {
    this.#motion.end();
    await this.#halt();
  }

  async isMoving(_request: object, { signal }: CallContext) {
    const answers = await Promise.all(
      this.#motors.map((motor) => motor.call("isMoving", {}, signal)),
    );
    return { isMoving: answers.some(({ isMoving }) => isMoving === true) };
  }

  getProperties() {
    const { width_mm, wheel_circumference_mm } = this.options.attributes;
    return {
      widthMeters: width_mm / 1_000,
      turningRadiusMeters: 0,
      wheelCircumferenceMeters: wheel_circumference_mm / 1_000,
    };
  }

  async getStatus(call: CallContext) {
    const { isMoving } = await this.isMoving({}, call);
    return { is_moving: isMoving };
  }

  async close(): Promise<void> {
    await this.stop();
  }

  get #motors(): Motor[] {
    return [...this.options.left, ...this.options.right];
  }

  /** Turns of a wheel for an angle that the base turns on the spot. */
  #turnsOf(degrees: number): number {
    const { width_mm, wheel_circumference_mm, spin_slip_factor = 1 } = this.options.attributes;
    return width_mm * Math.PI * degrees / 360 / wheel_circumference_mm * (spin_slip_factor ?? 1);
  }

  async #stopped() {
    await this.stop();
    return {};
  }

  /** Turns both sides so far; when one motor fails, all stop. */
  async #goFor(turns: Sides, rpm: number, call: CallContext): Promise<void> {
    const { left, right } = this.options;
    await this.#motion.run(call, async (signal) => {
      const go = (motor: Motor, revolutions: number) =>
        motor.call("goFor", { rpm, revolutions }, signal);
      await Promise.all([
        ...left.map((motor) => go(motor, turns.left)),
        ...right.map((motor) => go(motor, turns.right)),
      ]);
      signal.throwIfAborted();
    }, () => this.#halt());
  }

  async #all(sides: Sides, order: (motor: Motor, value: number) => Promise<unknown>) {
    this.#motion.end();
    try {
      await Promise.all([
        ...this.options.left.map((motor) => order(motor, sides.left)),
        ...this.options.right.map((motor) => order(motor, sides.right)),
      ]);
    } catch (error) {
      // One side that turns on its own drives in circles.
      await this.#halt().catch(() => {});
      throw error;
    }
  }

  /** Stops every motor, also when one of them fails. */
  async #halt(): Promise<void> {
    const motors = this.#motors;
    const results = await Promise.allSettled(motors.map((motor) => motor.stop()));
    const problems = results.flatMap((result, index) =>
      result.status === "rejected" ? [`${motors[index]!.name}: ${reasonOf(result.reason)}`] : []
    );
    if (problems.length > 0) {
      throw new ConnectError(`motors did not stop: ${problems.join("; ")}`, Code.Internal);
    }
  }
}

/** Power of the sides; the larger one is 1 at most, and their ratio stays. */
export function mixed(forward: number, turn: number): Sides {
  const left = forward - turn;
  const right = forward + turn;
  const most = Math.max(1, Math.abs(left), Math.abs(right));
  return { left: left / most, right: right / most };
}

function component(vector: Vector | undefined, axis: "y" | "z"): number {
  return finite(vector?.[axis] ?? 0, axis === "y" ? "linear.y" : "angular.z");
}
