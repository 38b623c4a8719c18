import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import type { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { measuring, type Used } from "../drivers/dependency.ts";
import { finite, Motion } from "../drivers/motion.ts";
import type { SensorControlledBaseAttributes, VelocityParameters } from "./base_attributes.ts";
import type { Wanted } from "./wheeled_base.ts";

type Sensor = Used<typeof MovementSensorService>;

/** Without parameters: part of what a velocity is off that is made up for in a second. */
const CORRECTION = 0.8;
/** The last degrees of a turn are done slower, so that it does not go too far. */
const SLOW_DEGREES = 15;
/** A turn may end so far off. */
const TOLERANCE_DEGREES = 1;
/** A movement may take so many times as long as it should. */
const PATIENCE = 3;

export interface SensorControlledBaseOptions {
  readonly base: Used<typeof BaseService>;
  readonly sensors: readonly Sensor[];
  readonly attributes: SensorControlledBaseAttributes;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The first sensor that measures each quantity. */
interface Sources {
  readonly linear: Sensor | undefined;
  readonly angular: Sensor | undefined;
  /** Yaw in degrees, counterclockwise. */
  readonly yaw: ((signal: AbortSignal) => Promise<number>) | undefined;
}

/** See {@link sensorControlledBaseModel}. */
export class SensorControlledBase implements Driver<typeof BaseService> {
  readonly #motion = new Motion();
  #problem: string | undefined;

  private constructor(
    private readonly options: SensorControlledBaseOptions,
    private readonly sources: Sources,
  ) {}

  /** @throws when no sensor measures a velocity or the orientation. */
  static async create(options: SensorControlledBaseOptions): Promise<SensorControlledBase> {
    const measured = await Promise.all(
      options.sensors.map(async (sensor) => ({
        sensor,
        has: await sensor.call("getProperties", {}),
      })),
    );
    const first = (quantity: keyof typeof measured[number]["has"]) => {
      const sensor = measured.find(({ has }) => has[quantity] === true)?.sensor;
      return sensor && measuring(sensor, options.clock);
    };
    const oriented = first("orientationSupported");
    const compass = first("compassHeadingSupported");
    const sources: Sources = {
      linear: first("linearVelocitySupported"),
      angular: first("angularVelocitySupported"),
      yaw: oriented
        ? async (signal) =>
          (await oriented.call("getOrientation", {}, signal)).orientation?.theta ?? 0
        : compass &&
          (async (signal) => -((await compass.call("getCompassHeading", {}, signal)).value ?? 0)),
    };
    if (sources.linear || sources.angular || sources.yaw) {
      return new SensorControlledBase(options, sources);
    }
    throw new ConnectError(
      `none of ${options.sensors.map(({ name }) => name).join(", ")} measures a velocity or the ` +
        "orientation",
      Code.FailedPrecondition,
    );
  }

  /** Keeps the heading and ends at the distance, as far as sensors measure them. */
  async moveStraight(
    request: { distanceMm: bigint; mmPerSec: number },
    call: CallContext,
  ) {
    const { linear, yaw } = this.sources;
    const distance = Number(request.distanceMm);
    const speed = Math.abs(request.mmPerSec);
    if (!linear || !(speed > 0) || distance === 0) {
      return await this.#passOn("moveStraight", request, call);
    }
    const way = distance * Math.sign(request.mmPerSec);
    await this.#motion.run(call, async (signal) => {
      const heading = await yaw?.(signal);
      let done = 0;
      await this.#steps(signal, Math.abs(distance) / speed, async (seconds) => {
        const { linearVelocity } = await linear.call("getLinearVelocity", {}, signal);
        done += (linearVelocity?.y ?? 0) * 1_000 * seconds;
        const left = (Math.abs(way) - done * Math.sign(way)) * Math.sign(way);
        if (left * way <= 0) return true;
        const off = heading === undefined ? 0 : turn(heading - await yaw!(signal));
        signal.throwIfAborted();
        // Not further than the next step.
        const wanted = Math.sign(way) *
          Math.min(speed, Math.max(Math.abs(left) * this.#hz / 2, 10));
        await this.options.base.call("setVelocity", {
          linear: { x: 0, y: wanted, z: 0 },
          angular: { x: 0, y: 0, z: off },
        }, signal);
        return false;
      });
      await this.options.base.stop();
    }, () => this.options.base.stop());
    return {};
  }

  async spin(request: { angleDeg: number; degsPerSec: number }, call: CallContext) {
    const { yaw } = this.sources;
    const angle = finite(request.angleDeg, "angle_deg") * Math.sign(request.degsPerSec);
    const speed = Math.abs(finite(request.degsPerSec, "degs_per_sec"));
    if (!yaw || speed === 0 || angle === 0) return await this.#passOn("spin", request, call);
    await this.#motion.run(call, async (signal) => {
      let last = await yaw(signal);
      let turned = 0;
      await this.#steps(signal, Math.abs(angle) / speed, async () => {
        const now = await yaw(signal);
        signal.throwIfAborted();
        turned += turn(now - last);
        last = now;
        const left = angle - turned;
        if (Math.abs(left) <= TOLERANCE_DEGREES || left * angle < 0) return true;
        const slower = Math.min(1, Math.max(Math.abs(left) / SLOW_DEGREES, 0.1));
        const z = Math.sign(left) * speed * slower;
        await this.options.base.call("setVelocity", {
          linear: { x: 0, y: 0, z: 0 },
          angular: { x: 0, y: 0, z },
        }, signal);
        return false;
      });
      await this.options.base.stop();
    }, () => this.options.base.stop());
    return {};
  }

  async setPower(wanted: Wanted, call: CallContext) {
    return await this.#passOn("setPower", wanted, call);
  }

  /** Corrects until the next command. Linear in mm/s, angular in degrees/s. */
  async setVelocity(wanted: Wanted, call: CallContext) {
    const linear = finite(wanted.linear?.y ?? 0, "linear.y");
    const angular = finite(wanted.angular?.z ?? 0, "angular.z");
    if (linear === 0 && angular === 0) {
      await this.stop(call);
      return {};
    }
    this.#problem = undefined;
    this.#motion.start(
      (signal) => this.#keep({ linear: linear / 1_000, angular }, signal),
      () => this.options.base.stop(),
      (error) => {
        this.#problem = reasonOf(error);
        this.options.log.error(`the base was stopped: ${this.#problem}`, {
          event: "motion_stopped",
        });
      },
    );
    return {};
  }

  async stop({ signal }: CallContext): Promise<void> {
    this.#motion.end();
    await this.options.base.stop(signal);
  }

  async isMoving(_request: object, { signal }: CallContext) {
    return await this.options.base.call("isMoving", {}, signal);
  }

  async getProperties(_request: object, { signal }: CallContext) {
    return await this.options.base.call("getProperties", {}, signal);
  }

  async getStatus(call: CallContext) {
    const { isMoving } = await this.isMoving({}, call);
    return {
      is_moving: isMoving ?? false,
      ...(this.#problem !== undefined && { error: this.#problem }),
    };
  }

  async close(): Promise<void> {
    this.#motion.end();
    await this.options.base.stop();
  }

  get #hz(): number {
    return this.options.attributes.control_frequency_hz ?? 10;
  }

  async #passOn(method: "moveStraight" | "spin" | "setPower", request: object, call: CallContext) {
    await this.#motion.run(
      call,
      async (signal) => void await this.options.base.call(method, request, signal),
      () => this.options.base.stop(),
    );
    return {};
  }

  /** m/s and degrees/s. */
  async #keep(wanted: { linear: number; angular: number }, signal: AbortSignal): Promise<void> {
    const { attributes, base } = this.options;
    const parameters = (type: VelocityParameters["type"]) =>
      attributes.control_parameters?.find((each) => each.type === type);
    const linear = corrector(wanted.linear, this.sources.linear && parameters("linear_velocity"));
    const angular = corrector(
      wanted.angular,
      this.sources.angular && parameters("angular_velocity"),
    );
    const byPower = attributes.control_parameters !== undefined;
    await this.#steps(signal, undefined, async (seconds) => {
      const [nowLinear, nowAngular] = await Promise.all([
        this.sources.linear?.call("getLinearVelocity", {}, signal),
        this.sources.angular?.call("getAngularVelocity", {}, signal),
      ]);
      signal.throwIfAborted();
      const y = linear(nowLinear?.linearVelocity?.y, seconds);
      const z = angular(nowAngular?.angularVelocity?.z, seconds);
      await base.call(byPower ? "setPower" : "setVelocity", {
        linear: { x: 0, y: byPower ? limit(y) : y * 1_000, z: 0 },
        angular: { x: 0, y: 0, z: byPower ? limit(z) : z },
      }, signal);
      return false;
    });
  }

  /** @param seconds how long it should take; with much more it fails. Undefined: no limit. */
  async #steps(
    signal: AbortSignal,
    seconds: number | undefined,
    step: (seconds: number) => Promise<boolean>,
  ): Promise<void> {
    const { clock } = this.options;
    const startMs = clock.monotonicMs();
    let lastMs = startMs;
    while (!(await step((clock.monotonicMs() - lastMs) / 1_000))) {
      signal.throwIfAborted();
      lastMs = clock.monotonicMs();
      if (seconds !== undefined && lastMs - startMs > (seconds * PATIENCE + 5) * 1_000) {
        throw new ConnectError(
          `the base did not arrive within ${(seconds * PATIENCE + 5).toFixed(0)} s; see what its ` +
            "movement sensors measure and what is in its way",
          Code.DeadlineExceeded,
        );
      }
      await clock.sleep(1_000 / this.#hz, signal);
    }
  }
}

/**
 * Makes of what is wanted and what is measured the next order: power with parameters; without, the
 * wanted velocity with what it was off so far.
 */
export function corrector(wanted: number, parameters: VelocityParameters | undefined) {
  let sum = 0;
  let before: number | undefined;
  return (measured: number | undefined, seconds: number): number => {
    if (measured === undefined) return wanted;
    const off = wanted - measured;
    sum += off * seconds;
    if (!parameters) {
      const most = Math.abs(wanted);
      sum = Math.max(-most / CORRECTION, Math.min(most / CORRECTION, sum));
      return wanted + CORRECTION * sum;
    }
    const change = before === undefined || seconds === 0 ? 0 : (off - before) / seconds;
    before = off;
    return parameters.p * off + parameters.i * sum + parameters.d * change;
  };
}

/** A turn as -180 to 180 degrees. */
function turn(degrees: number): number {
  return degrees - 360 * Math.round(degrees / 360);
}

function limit(power: number): number {
  return Math.max(-1, Math.min(1, power));
}
