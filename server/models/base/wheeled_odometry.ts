import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import type { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import type { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Used } from "../drivers/dependency.ts";

type Motor = Used<typeof MotorService>;

/** Metres of a degree of latitude, on a sphere with the mean radius of the earth. */
const METERS_PER_DEGREE = 6_371_008.8 * Math.PI / 180;

export interface WheeledOdometryOptions {
  readonly base: Used<typeof BaseService>;
  readonly left: readonly Motor[];
  readonly right: readonly Motor[];
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Where a base is, by the turns of its wheels, from where it began: metres east (x) and north (y),
 * yaw in degrees, counterclockwise. See {@link wheeledOdometryModel}.
 */
export class WheeledOdometry implements Driver<typeof MovementSensorService> {
  #x = 0;
  #y = 0;
  #yaw = 0;
  /** m/s forward, degrees/s. */
  #linear = 0;
  #angular = 0;
  #last: { left: number; right: number; atMs: number } | undefined;
  #problem: string | undefined;
  readonly #ending = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(
    private readonly options: WheeledOdometryOptions,
    /** Metres. */
    private readonly size: { width: number; around: number },
  ) {}

  /** @throws when the base does not know its size, or a motor its position. */
  static async create(options: WheeledOdometryOptions): Promise<WheeledOdometry> {
    const { widthMeters: width = 0, wheelCircumferenceMeters: around = 0 } = await options.base
      .call("getProperties", {});
    if (!(width > 0 && around > 0)) {
      throw new ConnectError(
        `base ${options.base.name} does not know its width and its wheels' circumference`,
        Code.FailedPrecondition,
      );
    }
    for (const motor of [...options.left, ...options.right]) {
      const { positionReporting } = await motor.call("getProperties", {});
      if (positionReporting) continue;
      throw new ConnectError(
        `motor ${motor.name} does not know its position; give it an encoder`,
        Code.FailedPrecondition,
      );
    }
    const odometry = new WheeledOdometry(options, { width, around });
    await odometry.#read();
    odometry.#running = odometry.#run();
    return odometry;
  }

  getPosition({ extra }: { extra?: JsonObject | undefined }) {
    this.#check();
    if (extra?.["return_relative_pos_m"] === true) {
      return { coordinate: { latitude: this.#y, longitude: this.#x }, altitudeM: 0 };
    }
    const latitude = this.#y / METERS_PER_DEGREE;
    const around = METERS_PER_DEGREE * Math.cos(latitude * Math.PI / 180);
    return { coordinate: { latitude, longitude: this.#x / around }, altitudeM: 0 };
  }

  getOrientation() {
    this.#check();
    return { orientation: { oX: 0, oY: 0, oZ: 1, theta: this.#yaw } };
  }

  getCompassHeading() {
    this.#check();
    return { value: ((-this.#yaw % 360) + 360) % 360 };
  }

  getLinearVelocity() {
    this.#check();
    return { linearVelocity: { x: 0, y: this.#linear, z: 0 } };
  }

  getAngularVelocity() {
    this.#check();
    return { angularVelocity: { x: 0, y: 0, z: this.#angular } };
  }

  getProperties() {
    return {
      positionSupported: true,
      orientationSupported: true,
      compassHeadingSupported: true,
      linearVelocitySupported: true,
      angularVelocitySupported: true,
      linearAccelerationSupported: false,
    };
  }

  /** No figure is known: it grows with the way. */
  getAccuracy() {
    return {};
  }

  /** `{"reset": true}`, with x and y in metres where it is not to begin at 0. */
  doCommand({ reset, x = 0, y = 0 }: JsonObject): JsonObject {
    if (reset !== true || typeof x !== "number" || typeof y !== "number") {
      throw new ConnectError(
        'this sensor knows the command {"reset": true, "x": metres, "y": metres}',
        Code.InvalidArgument,
      );
    }
    this.#x = x;
    this.#y = y;
    this.#yaw = 0;
    return { reset: true };
  }

  getStatus() {
    return {
      x_m: this.#x,
      y_m: this.#y,
      yaw_deg: this.#yaw,
      ...(this.#problem !== undefined && { error: this.#problem }),
    };
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  #check(): void {
    if (this.#problem !== undefined) throw new ConnectError(this.#problem, Code.Unavailable);
  }

  async #run(): Promise<void> {
    const { clock, intervalMs, log } = this.options;
    const turn = async () => {
      await this.#read();
      this.#problem = undefined;
    };
    const onFailure = (error: unknown) => {
      const problem = reasonOf(error);
      if (problem !== this.#problem) {
        log.warn(`the wheels cannot be read: ${problem}`, { event: "device_failed" });
      }
      this.#problem = problem;
    };
    const waits = { clock, intervalMs, firstMs: intervalMs, onFailure };
    await pollLoop(turn, waits, this.#ending.signal);
  }

  async #read(): Promise<void> {
    const { left: lefts, right: rights, clock } = this.options;
    const [left, right] = await Promise.all([mean(lefts), mean(rights)]);
    const atMs = clock.monotonicMs();
    const last = this.#last;
    this.#last = { left, right, atMs };
    if (!last) return;
    const { width, around } = this.size;
    const leftWay = (left - last.left) * around;
    const rightWay = (right - last.right) * around;
    const way = (leftWay + rightWay) / 2;
    const turned = (rightWay - leftWay) / width; // radians
    // The base faces north (y) at yaw 0; the chord of an arc points halfway.
    const facing = this.#yaw * Math.PI / 180 + turned / 2;
    this.#x -= way * Math.sin(facing);
    this.#y += way * Math.cos(facing);
    this.#yaw += turned * 180 / Math.PI;
    this.#yaw -= 360 * Math.round(this.#yaw / 360);
    const seconds = (atMs - last.atMs) / 1_000;
    if (seconds <= 0) return;
    this.#linear = way / seconds;
    this.#angular = turned * 180 / Math.PI / seconds;
  }
}

async function mean(motors: readonly Motor[]): Promise<number> {
  const answers = await Promise.all(motors.map((motor) => motor.call("getPosition", {})));
  return answers.reduce((sum, { position }) => sum + (position ?? 0), 0) / motors.length;
}
