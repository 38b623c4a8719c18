import type { JsonObject } from "@bufbuild/protobuf";
import type { CallContext, Readings, Resource } from "../graph/resource.ts";

/** A resource that can be read, by its API and its short name. */
export interface SensorName {
  readonly api: string;
  readonly name: string;
}

/** A resource of API `rdk:service:sensors`. */
export interface SensorsDriver extends Resource {
  listSensors(): readonly SensorName[];
  /** Reads the given ones, all at the same time. Fails when one of them does, naming it. */
  readSensors(
    sensors: readonly SensorName[],
    extra: JsonObject | undefined,
    call: CallContext,
  ): Promise<{ readonly sensor: SensorName; readonly readings: Readings }[]>;
}
