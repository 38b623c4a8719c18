import { attributes, duration, optional } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { optionalPath } from "../readings/json_path.ts";
import { httpAddress, httpHeaders } from "./http_address.ts";
import type { HttpSensorAttributes } from "./http_attributes.ts";
import type { HttpSensorEnvironment } from "./http_sensor.ts";

/** Model `rdk:builtin:http` of `rdk:component:sensor`: reads JSON from an address. */
export function httpSensorModel(environment: HttpSensorEnvironment): Model<HttpSensorAttributes> {
  return {
    api: "rdk:component:sensor",
    model: "rdk:builtin:http",
    triedWith: "a local HTTP server",
    attributes: attributes<HttpSensorAttributes>({
      url: httpAddress("Where the JSON is; requested with GET. Redirects are not followed."),
      headers: optional(httpHeaders("Sent with each request. Their values are never logged.")),
      timeout: optional(duration("A request may take this long. Default 10s.", {
        min: 1,
        max: 600_000,
      })),
      interval: optional(duration(
        "The address is requested at most this often; readings in between are the last ones. Default 1s.",
        { min: 0 },
      )),
      max_age: optional(duration(
        "While requests fail, the last good readings are given out up to this age. Each reading " +
          "then has reading_age_seconds. Default: a request that fails is an error at once.",
        { min: 1 },
      )),
      path: optionalPath("Where in the JSON the readings are. Default: all of it."),
    }),
    async construct({ attributes, log }) {
      const { HttpSensor } = await import("./http_sensor.ts");
      return new HttpSensor(attributes, environment, log);
    },
  };
}
