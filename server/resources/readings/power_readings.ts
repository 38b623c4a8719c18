import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { PowerSensorService } from "../../../shared/gen/viam/component/powersensor/v1/powersensor_pb.ts";
import type { Driver } from "../graph/driver.ts";
import type { CallContext, Readings } from "../graph/resource.ts";

const PACKAGE = "viam.component.powersensor.v1";

/**
 * All that a power sensor measures: voltage (V), current (A), is_ac, power (W). What the sensor
 * does not measure is left out.
 */
export async function powerReadings(
  sensor: Driver<typeof PowerSensorService>,
  name: string,
  extra: JsonObject | undefined,
  call: CallContext,
): Promise<Readings> {
  const request = <T extends string>(message: T) => ({
    $typeName: `${PACKAGE}.Get${message}Request` as const,
    name,
    ...(extra && { extra }),
  });
  const [voltage, current, power] = await Promise.all([
    orNothing(() => sensor.getVoltage?.(request("Voltage"), call)),
    orNothing(() => sensor.getCurrent?.(request("Current"), call)),
    orNothing(() => sensor.getPower?.(request("Power"), call)),
  ]);
  const alternating = voltage ?? current;
  return {
    ...(voltage && { voltage: voltage.volts ?? 0 }),
    ...(current && { current: current.amperes ?? 0 }),
    ...(alternating && { is_ac: alternating.isAc ?? false }),
    ...(power && { power: power.watts ?? 0 }),
  };
}

/** Undefined for what the sensor cannot do. */
async function orNothing<T>(read: () => T | Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.Unimplemented) return undefined;
    throw error;
  }
}
