import { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import {
  AttributeError,
  attributes,
  type Check,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { useDriver } from "../drivers/dependency.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import type {
  SensorControlledBaseAttributes,
  VelocityParameters,
  WheeledBaseAttributes,
  WheeledOdometryAttributes,
} from "./base_attributes.ts";

const MOTOR = "rdk:component:motor";
const BASE = "rdk:component:base";

/** Model `rdk:builtin:wheeled` of `rdk:component:base`: wheels on the left and on the right. */
export function wheeledBaseModel({ clock }: BuiltinEnvironment): Model<WheeledBaseAttributes> {
  return {
    api: BASE,
    model: "rdk:builtin:wheeled",
    triedWith: "motors on a simulated board, and the published Python SDK; no real base",
    attributes: attributes<WheeledBaseAttributes>({
      left: motors("Motors of the left side; forward drives forward."),
      right: motors("Motors of the right side; forward drives forward."),
      width_mm: number("From the middle of a left wheel to that of a right one, in mm.", {
        min: 0.001,
      }),
      wheel_circumference_mm: number("Way of one turn of a wheel, in mm.", { min: 0.001 }),
      spin_slip_factor: optional(
        number("Wheels turn so many times as far when spinning, because they slip. Default 1.", {
          min: 0.001,
        }),
      ),
    }),
    dependencies({ left, right }) {
      if (left.length === 0 || right.length === 0) {
        const side = left.length === 0 ? "left" : "right";
        throw new AttributeError(
          `attributes.${side}`,
          "no motors",
          "the name of at least one motor",
        );
      }
      return { required: [...left, ...right] };
    },
    async construct({ attributes, dependencies }) {
      const { WheeledBase } = await import("./wheeled_base.ts");
      return new WheeledBase({
        left: usedMotors(attributes.left, dependencies),
        right: usedMotors(attributes.right, dependencies),
        attributes,
        clock,
      });
    },
  };
}

/** Model `rdk:builtin:sensor-controlled` of `rdk:component:base`: a base that sensors correct. */
export function sensorControlledBaseModel(
  { clock }: BuiltinEnvironment,
): Model<SensorControlledBaseAttributes> {
  return {
    api: BASE,
    model: "rdk:builtin:sensor-controlled",
    triedWith: "a base and sensors of the tests that measure what it does; no real base",
    attributes: attributes<SensorControlledBaseAttributes>({
      base: text("The base that is driven."),
      movement_sensor: listOf(
        text("Name of a movement sensor."),
        "Sensors; for each quantity the first that measures it.",
      ),
      control_parameters: optional(listOf(
        objectOf<VelocityParameters>({
          type: oneOf(["linear_velocity", "angular_velocity"], "What is controlled."),
          p: number("Power for each m/s, or degree/s, that it is off."),
          i: number("Power for their sum over seconds."),
          d: number("Power for their change in a second."),
        }, "Of one velocity."),
        "With them the base is driven by power. Default: by velocities, which are corrected.",
      )),
      control_frequency_hz: optional(
        number("Corrections a second. Default 10.", { min: 0.5, max: 100 }),
      ),
    }),
    dependencies({ base, movement_sensor }) {
      if (movement_sensor.length > 0) return { required: [base, ...movement_sensor] };
      throw new AttributeError(
        "attributes.movement_sensor",
        "no sensors",
        "the name of at least one movement sensor",
      );
    },
    async construct({ attributes, dependencies, log }) {
      const { SensorControlledBase } = await import("./sensor_controlled_base.ts");
      return await SensorControlledBase.create({
        base: useDriver(BaseService, BASE, attributes.base, dependencies),
        sensors: attributes.movement_sensor.map((name) =>
          useDriver(MovementSensorService, "rdk:component:movement_sensor", name, dependencies)
        ),
        attributes,
        clock,
        log,
      });
    },
  };
}

/** Model `rdk:builtin:wheeled-odometry` of `rdk:component:movement_sensor`: by the wheels' turns. */
export function wheeledOdometryModel(
  { clock }: BuiltinEnvironment,
): Model<WheeledOdometryAttributes> {
  return {
    api: "rdk:component:movement_sensor",
    model: "rdk:builtin:wheeled-odometry",
    triedWith: "encoders on a simulated board, and the published Python SDK; no real base",
    attributes: attributes<WheeledOdometryAttributes>({
      base: text("The base; its width and wheels count."),
      left_motors: motors("Motors of the left side, with encoders."),
      right_motors: motors("Motors of the right side, with encoders."),
      time_interval_msec: optional(
        number("Milliseconds from one reading of the motors to the next. Default 100.", {
          min: 10,
          max: 60_000,
        }),
      ),
    }),
    dependencies({ base, left_motors, right_motors }) {
      if (left_motors.length > 0 && right_motors.length > 0) {
        return { required: [base, ...left_motors, ...right_motors] };
      }
      const side = left_motors.length === 0 ? "left_motors" : "right_motors";
      throw new AttributeError(`attributes.${side}`, "no motors", "the name of at least one motor");
    },
    async construct({ attributes, dependencies, log }) {
      const { WheeledOdometry } = await import("./wheeled_odometry.ts");
      return await WheeledOdometry.create({
        base: useDriver(BaseService, BASE, attributes.base, dependencies),
        left: usedMotors(attributes.left_motors, dependencies),
        right: usedMotors(attributes.right_motors, dependencies),
        intervalMs: attributes.time_interval_msec ?? 100,
        clock,
        log,
      });
    },
  };
}

function motors(description: string): Check<string[]> {
  return listOf(text("Name of a motor."), description);
}

function usedMotors(names: readonly string[], dependencies: ReadonlyMap<string, Resource>) {
  return names.map((name) => useDriver(MotorService, MOTOR, name, dependencies));
}
