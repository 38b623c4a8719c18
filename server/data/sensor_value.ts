/** One value that a sensor of this machine reads, for settings that name a sensor. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { Clock } from "../../shared/base/time/clock.ts";
import { linkedController } from "../../shared/base/time/linked_controller.ts";
import { READABLE_APIS, readingsOf } from "../resources/readings/readings_of.ts";
import { aborted } from "../resources/graph/aborted.ts";
import type { ResourceIndex } from "../resources/graph/resource_index.ts";

/** How long a sensor may take. Milliseconds. */
const READ_LIMIT_MS = 10_000;

export interface SensorValueOptions {
  readonly resources: ResourceIndex;
  readonly clock: Clock;
  /** Short or full name of the sensor. */
  readonly name: string;
  /** Which of its readings. */
  readonly key: string;
  readonly signal: AbortSignal;
}

/**
 * Reads the sensor; undefined where the reading is not there.
 *
 * @throws {Error} when there is no such sensor, it is not ready, fails or does not answer.
 */
export async function sensorValue(options: SensorValueOptions): Promise<JsonValue | undefined> {
  const { resources, clock, name, key, signal } = options;
  const slash = name.indexOf("/");
  const short = name.slice(slash + 1);
  const apis = slash >= 0 ? [name.slice(0, slash)] : READABLE_APIS;
  const api = apis.find((one) => resources.find(one, short));
  if (api === undefined) throw new Error(`there is no sensor ${name}`);
  const node = resources.acquire(api, short);
  const limited = linkedController(signal);
  const limit = clock.setTimer(
    READ_LIMIT_MS,
    () => limited.abort(new Error(`sensor ${name} does not answer`)),
  );
  try {
    const readings = await Promise.race([
      readingsOf(api, short, node.instance!, undefined, { signal: limited.signal }),
      aborted(limited.signal),
    ]);
    if (limited.signal.aborted) throw limited.signal.reason;
    return readings?.[key];
  } finally {
    limit.cancel();
    limited.abort();
    resources.release(node);
  }
}
