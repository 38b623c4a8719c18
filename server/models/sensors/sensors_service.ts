/** The service that reads several sensors with one call. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { READABLE_APIS, readingsOf } from "../../resources/readings/readings_of.ts";
import type { SensorName, SensorsDriver } from "../../resources/readings/sensors_driver.ts";
import { dependencyNamed } from "../../resources/graph/dependency_named.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import { fullName } from "../../resources/graph/name.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";

/** Model `rdk:builtin:builtin` of `rdk:service:sensors`: all of the machine that can be read. */
export const sensorsServiceModel: Model<JsonObject> = {
  api: "rdk:service:sensors",
  model: "rdk:builtin:builtin",
  triedWith: "sensors of several APIs, missing and failing ones",
  attributes: anyAttributes,
  weakDependencies: READABLE_APIS,
  construct({ dependencies }): SensorsDriver {
    const sensors: SensorName[] = [...dependencies.keys()].map(split).filter(({ api }) =>
      READABLE_APIS.includes(api)
    );
    return {
      listSensors: () => sensors,
      readSensors: (wanted, extra, call) =>
        Promise.all(wanted.map(async (sensor) => {
          const { api, name } = sensor;
          const resource = find(dependencies, sensor);
          try {
            const readings = await readingsOf(api, name, resource, extra, call);
            if (!readings) throw new Error("it has no readings");
            return { sensor, readings };
          } catch (error) {
            throw named(sensor, error);
          }
        })),
    };
  },
};

/** Full name → API and short name. */
function split(key: string): SensorName {
  const slash = key.indexOf("/");
  return { api: key.slice(0, slash), name: key.slice(slash + 1) };
}

function find(dependencies: ReadonlyMap<string, Resource>, { api, name }: SensorName): Resource {
  const found = dependencyNamed(api, name, dependencies);
  if (found) return found;
  throw new ConnectError(
    `there is no sensor ${fullName(api, name)} that is ready`,
    Code.NotFound,
  );
}

function named({ api, name }: SensorName, error: unknown): ConnectError {
  const { code, rawMessage } = ConnectError.from(toError(error));
  return new ConnectError(
    `${fullName(api, name)}: ${rawMessage}`,
    code,
    undefined,
    undefined,
    error,
  );
}
