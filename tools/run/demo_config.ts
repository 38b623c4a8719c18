import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { captured, ROVER } from "./rover_config.ts";

/** Where the demo machine's parts are found. */
export interface DemoPlaces {
  /** `host:port` that the machine's server listens on. */
  bindAddress: string;
  /** `file://` URL of the machine server's program. */
  serverUrl: string;
  /** Where the cloud says that the rover sees the red ball. */
  webhookUrl: string;
}

/** The trigger of the demo. */
const TRIGGER = "red-ball-seen";

/**
 * The configuration that the demo machine needs for this run: a new machine gets the demo's, one of
 * an earlier run keeps its own with this run's ports and program. Undefined when nothing is to be
 * changed.
 */
export function preparedConfig(config: JsonObject, places: DemoPlaces): JsonObject | undefined {
  if (Object.keys(config).length === 0) return demoConfig(places);
  const network = asObject(config.network);
  const agent = asObject(config.agent);
  const versions = asObject(agent.version_control);
  const triggers = withWebhook(config.triggers, places.webhookUrl);
  if (
    network.bind_address === places.bindAddress &&
    versions["machine-server"] === places.serverUrl && triggers === config.triggers
  ) return undefined;
  return {
    ...config,
    ...(triggers !== undefined && { triggers }),
    network: { ...network, bind_address: places.bindAddress },
    agent: {
      ...agent,
      version_control: { ...versions, "machine-server": places.serverUrl },
    },
  };
}

/** The demo's trigger leads to this run; what a user changed of it stays. */
function withWebhook(triggers: JsonValue | undefined, url: string): JsonValue | undefined {
  if (!Array.isArray(triggers)) return triggers;
  let isChanged = false;
  const led = triggers.map((trigger) => {
    const { name, notifications } = asObject(trigger);
    const [first] = Array.isArray(notifications) ? notifications : [];
    const { type, value } = asObject(first);
    if (name !== TRIGGER || type !== "webhook" || value === url) return trigger;
    isChanged = true;
    return {
      ...asObject(trigger),
      notifications: [{ ...asObject(first), value: url }, ...(notifications as []).slice(1)],
    };
  });
  return isChanged ? led : triggers;
}

/** The configuration that a new demo machine gets. */
function demoConfig(places: DemoPlaces): JsonObject {
  return {
    components: [
      {
        name: "host",
        api: "rdk:component:sensor",
        model: "rdk:builtin:host",
        service_configs: [captured("Readings", 1)],
      },
      {
        name: "greenhouse",
        api: "rdk:component:sensor",
        model: "rdk:builtin:fake",
        attributes: { readings: { temperature: 19.5 } },
        // It rides on the rover.
        frame: {
          parent: "rover",
          translation: { x: 0, y: -150, z: 110 },
          geometry: { type: "box", x: 60, y: 60, z: 100 },
        },
      },
      ...ROVER.components,
      { name: "wheel", api: "rdk:component:encoder", model: "rdk:builtin:fake" },
      {
        name: "pump",
        api: "rdk:component:motor",
        model: "rdk:builtin:fake",
        attributes: { encoder: "wheel" },
      },
    ],
    services: ROVER.services,
    triggers: [{
      name: TRIGGER,
      event: {
        type: "conditional_data_ingested",
        conditional: {
          data_capture_method: "vision:red-ball:DetectionsFromCamera",
          conditions: { evals: [{ operator: "gte", value: { "detections.0.confidence": 0.5 } }] },
        },
      },
      notifications: [
        { type: "webhook", value: places.webhookUrl, seconds_between_notifications: 20 },
      ],
    }],
    network: { bind_address: places.bindAddress },
    agent: { version_control: { "machine-server": places.serverUrl } },
  };
}

function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
