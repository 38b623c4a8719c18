import type { Messages, Methods } from "../../../shared/gen/micro/messages.ts";
import type { Input } from "../proto/codec.ts";

/** The services of a resource's API, by the API's name. */
export const SERVICES = {
  "rdk:component:base": "viam.component.base.v1.BaseService",
  "rdk:component:board": "viam.component.board.v1.BoardService",
  "rdk:component:encoder": "viam.component.encoder.v1.EncoderService",
  "rdk:component:generic": "viam.component.generic.v1.GenericService",
  "rdk:component:motor": "viam.component.motor.v1.MotorService",
  "rdk:component:movement_sensor": "viam.component.movementsensor.v1.MovementSensorService",
  "rdk:component:power_sensor": "viam.component.powersensor.v1.PowerSensorService",
  "rdk:component:sensor": "viam.component.sensor.v1.SensorService",
  "rdk:component:servo": "viam.component.servo.v1.ServoService",
  "rdk:component:switch": "viam.component.switch.v1.SwitchService",
} as const;

export type Api = keyof typeof SERVICES;

/**
 * What a driver of an API has: a function for each method of its service that it knows, named as
 * the method with a small first letter. They may throw, and may give a promise.
 */
export type Driver<A extends Api> = Drivers[A];

type MethodsOf<S extends string> = {
  [P in keyof Methods as P extends `/${S}/${infer M}` ? Uncapitalize<M> : never]?: (
    request: Methods[P]["input"],
  ) => Input<Methods[P]["output"]> | Promise<Input<Methods[P]["output"]>>;
};

type Drivers = { [A in Api]: MethodsOf<(typeof SERVICES)[A]> };

/** A resource that runs: its driver, and what ends it. */
export interface Resource {
  /** Ends it: pins are free, timers over. */
  close?(): void;
  /** Ends any motion; part of StopAll. */
  halt?(): void;
}

/** A method of a driver, whatever its API. */
export type Method = (request: unknown) => unknown;

/** The driver's own method, or what stands for one that it lacks; undefined: there is none. */
export function methodOf(resource: Resource, name: string): Method | undefined {
  const key = (name[0] ?? "").toLowerCase() + name.slice(1);
  const own = (resource as Readonly<Record<string, unknown>>)[key];
  if (typeof own === "function") return (request) => own.call(resource, request);
  if (name === "GetStatus") return () => ({ result: {} });
  if (name === "GetGeometries") return () => ({});
  if (name === "GetReadings") return collected(resource);
  return undefined;
}

/** Readings of a movement or power sensor: the answers of its other methods, those that it has. */
function collected(resource: Resource): Method {
  const parts: readonly (readonly [string, string, string])[] = [
    ["GetVoltage", "volts", "volts"],
    ["GetVoltage", "isAc", "is_ac"],
    ["GetCurrent", "amperes", "amps"],
    ["GetPower", "watts", "watts"],
    ["GetPosition", "coordinate", "position"],
    ["GetPosition", "altitudeM", "altitude"],
    ["GetLinearVelocity", "linearVelocity", "linear_velocity"],
    ["GetAngularVelocity", "angularVelocity", "angular_velocity"],
    ["GetLinearAcceleration", "linearAcceleration", "linear_acceleration"],
    ["GetCompassHeading", "value", "compass"],
    ["GetOrientation", "orientation", "orientation"],
  ];
  return async (request) => {
    const readings: Record<string, unknown> = {};
    for (const [method, field, name] of parts) {
      const own = methodOf(resource, method);
      const answer = own && await own(request) as Record<string, unknown>;
      if (answer?.[field] !== undefined) readings[name] = answer[field];
    }
    return { readings };
  };
}

/** `rdk:component:sensor` and a name, as messages have it. */
export function toResourceName(api: string, name: string): Messages["viam.common.v1.ResourceName"] {
  const [namespace = "", type = "", subtype = ""] = api.split(":");
  return { namespace, type, subtype, name };
}
