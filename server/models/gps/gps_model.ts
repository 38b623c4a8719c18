import {
  anyText,
  AttributeError,
  attributes,
  converted,
  integer,
  objectOf,
  oneOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { hostAndPort, serialPath } from "../serial/link_attributes.ts";
import type { GpsAttributes } from "./gps_attributes.ts";

/** Model `rdk:builtin:gps-nmea` of `rdk:component:movement_sensor`: a GPS receiver. */
export function gpsModel(environment: BuiltinEnvironment): Model<GpsAttributes> {
  return {
    api: "rdk:component:movement_sensor",
    model: "rdk:builtin:gps-nmea",
    triedWith:
      "sentences over a pseudo terminal and over TCP, and a caster of the tests; no real receiver",
    attributes: attributes<GpsAttributes>({
      connection_type: oneOf(["serial", "tcp"], "How the receiver is reached."),
      serial_attributes: optional(objectOf<NonNullable<GpsAttributes["serial_attributes"]>>({
        serial_path: serialPath("Serial port of the receiver."),
        serial_baud_rate: optional(
          integer("Bits a second. Default 38400.", { min: 50, max: 4_000_000 }),
        ),
      }, "Of connection_type serial.")),
      address: optional(hostAndPort("Where sentences come from, of connection_type tcp.")),
      ntrip_url: optional(converted(
        text("Caster with corrections, http://host:port. Default: none."),
        "an address http://host:port",
        (url) => URL.parse(url)?.protocol === "http:" ? url : undefined,
      )),
      ntrip_mountpoint: optional(converted(
        text("Stream of the caster; required with ntrip_url."),
        "a name without spaces and slashes",
        (name) => /^[^\s/]+$/.test(name) ? name : undefined,
      )),
      ntrip_username: optional(text("Default: none.")),
      ntrip_password: optional(anyText("It is never logged. Default: none.")),
    }),
    dependencies({ connection_type, serial_attributes, address, ntrip_url, ntrip_mountpoint }) {
      const problem = connection_type === "serial" && !serial_attributes
        ? "serial_attributes"
        : connection_type === "tcp" && !address
        ? "address"
        : ntrip_url !== undefined && ntrip_mountpoint === undefined
        ? "ntrip_mountpoint"
        : undefined;
      if (problem === undefined) return {};
      throw new AttributeError(
        `attributes.${problem}`,
        "nothing",
        "a value, with the others given",
      );
    },
    async construct({ attributes, log }) {
      const { GpsSensor } = await import("./gps_sensor.ts");
      return new GpsSensor({ environment, attributes, log });
    },
  };
}
