/** What a driver offers and what it is given. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Geometry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ByteHandler } from "../../../shared/rpc/client/forward.ts";

/** The part of a call that a driver may look at. */
export interface CallContext {
  /** Aborts when the caller goes away, its deadline passes, or the operation is cancelled. */
  readonly signal: AbortSignal;
}

/** What every resource can do; what it leaves out answers UNIMPLEMENTED. */
export interface Resource {
  /** Runs a command of the driver's own. */
  doCommand?(command: JsonObject, call: CallContext): JsonObject | Promise<JsonObject>;
  /** Describes the state of the device; `{}` when left out. */
  getStatus?(call: CallContext): JsonObject | Promise<JsonObject>;
  /**
   * Why the device cannot be used at the moment, and what to do; undefined while it can. Status then
   * shows the resource as unhealthy, without building it again. Called often: it looks at what the
   * driver knows and asks no device.
   */
  problem?(): string | undefined;
  /** Shapes the resource occupies; that of its configuration's frame when left out. */
  getGeometries?(call: CallContext): Geometry[] | Promise<Geometry[]>;
  /** Stops what moves; called on StopAll. */
  stop?(call: CallContext): void | Promise<void>;
  /** Gives back what the resource holds. Called once. */
  close?(): void | Promise<void>;
  /** Where the resource runs when it doesn't run here; calls to it are passed on as bytes. */
  readonly forward?: ByteHandler;
}

/** One set of readings: name of the value → value. */
export type Readings = { readonly [name: string]: JsonValue };

/** A resource of API `rdk:component:sensor`. */
export interface Sensor extends Resource {
  getReadings(extra: JsonObject | undefined, call: CallContext): Readings | Promise<Readings>;
}

/** True when the resource can be read like a sensor. */
export function hasReadings(resource: Resource): resource is Sensor {
  return typeof (resource as Partial<Sensor>).getReadings === "function";
}

/** What a model's constructor is given. */
export interface Construction<Attributes> {
  /** Short name. */
  readonly name: string;
  readonly fullName: string;
  readonly attributes: Attributes;
  /**
   * What the resource depends on, by full name; all of them are ready. Optional dependencies that
   * are not ready are left out.
   */
  readonly dependencies: ReadonlyMap<string, Resource>;
  readonly log: Logger;
  /** Aborts when the constructor has taken too long or its configuration changed meanwhile. */
  readonly signal: AbortSignal;
}
