import {
  anyText,
  AttributeError,
  attributes,
  converted,
  duration,
  integer,
  listOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import type { MqttAttributes } from "./mqtt_attributes.ts";

/** Model `rdk:builtin:mqtt` of `rdk:component:sensor`: what was last published to some topics. */
export function mqttModel(environment: BuiltinEnvironment): Model<MqttAttributes> {
  return {
    api: "rdk:component:sensor",
    model: "rdk:builtin:mqtt",
    triedWith:
      "the broker Mosquitto, stopped and started again, and one of the tests that misbehaves",
    attributes: attributes<MqttAttributes>({
      url: converted(
        text("The broker: mqtt://host:1883, or mqtts://host:8883 with TLS."),
        "an address mqtt://host or mqtts://host, without user and password",
        (url) => {
          const { protocol, hostname, username } = URL.parse(url) ?? {};
          return /^mqtts?:$/.test(protocol ?? "") && hostname && !username ? url : undefined;
        },
      ),
      topics: listOf(
        converted(
          text("A topic; + stands for one part of it, # for all further ones."),
          "a topic with + and # as whole parts, # last",
          (topic) => /^(?:(?:[^+#\0]*|\+)\/)*(?:[^+#/\0]*|\+|#)$/.test(topic) ? topic : undefined,
        ),
        "What is subscribed to. The last message of each topic is a reading.",
      ),
      username: optional(text("Default: none.")),
      password: optional(anyText("It is never logged. Default: none.")),
      client_id: optional(text("Default: a random one.")),
      qos: optional(integer("0: messages may be lost; 1: they come again. Default 0.", {
        min: 0,
        max: 1,
      })),
      max_age: optional(duration("Older messages are left out. Default: none is too old.", {
        min: 1,
      })),
    }),
    dependencies({ topics }) {
      if (topics.length > 0) return {};
      throw new AttributeError("attributes.topics", "no topics", "at least one topic");
    },
    async construct({ attributes, log }) {
      const { createMqttSensor } = await import("./mqtt_sensor.ts");
      return createMqttSensor(environment, attributes, log);
    },
  };
}
