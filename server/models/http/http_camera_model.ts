import { attributes, duration, optional } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { httpAddress, httpHeaders } from "./http_address.ts";
import type { HttpCameraAttributes } from "./http_attributes.ts";
import type { HttpSensorEnvironment } from "./http_sensor.ts";

/** Model `rdk:builtin:http` of `rdk:component:camera`: images from a network camera. */
export function httpCameraModel(environment: HttpSensorEnvironment): Model<HttpCameraAttributes> {
  return {
    api: "rdk:component:camera",
    model: "rdk:builtin:http",
    triedWith: "a local HTTP server that gives single images and MJPEG; no network camera",
    attributes: attributes<HttpCameraAttributes>({
      url: httpAddress(
        "Where a JPEG or PNG image is, or a multipart stream of them (MJPEG), of which the first " +
          "is taken each time.",
      ),
      headers: optional(httpHeaders("Sent with each request. Their values are never logged.")),
      timeout: optional(duration("A request may take this long. Default 10s.", {
        min: 1,
        max: 600_000,
      })),
      interval: optional(duration(
        "The address is requested at most this often; images in between are the last one. Default 0s.",
        { min: 0 },
      )),
    }),
    async construct({ attributes }) {
      const { createHttpCamera } = await import("./http_camera.ts");
      return createHttpCamera(attributes, environment);
    },
  };
}
