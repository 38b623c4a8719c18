import type { JsonObject } from "@bufbuild/protobuf";

/** Where the demo machine's parts are found. */
export interface DemoPlaces {
  /** `host:port` that the machine's server listens on. */
  bindAddress: string;
  /** `file://` URL of the machine server's program. */
  serverUrl: string;
}

/**
 * The configuration that the demo machine needs for this run: a new machine gets the demo's, one of
 * an earlier run keeps its own with this run's port and program. Undefined when nothing is to be
 * changed.
 */
export function preparedConfig(config: JsonObject, places: DemoPlaces): JsonObject | undefined {
  if (Object.keys(config).length === 0) return demoConfig(places);
  const network = asObject(config.network);
  const agent = asObject(config.agent);
  const versions = asObject(agent.version_control);
  if (
    network.bind_address === places.bindAddress && versions["machine-server"] === places.serverUrl
  ) return undefined;
  return {
    ...config,
    network: { ...network, bind_address: places.bindAddress },
    agent: {
      ...agent,
      version_control: { ...versions, "machine-server": places.serverUrl },
    },
  };
}

/** The configuration that a new demo machine gets. */
function demoConfig(places: DemoPlaces): JsonObject {
  return {
    components: [
      { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" },
      {
        name: "greenhouse",
        api: "rdk:component:sensor",
        model: "rdk:builtin:fake",
        attributes: { readings: { temperature: 19.5 } },
      },
      { name: "camera", api: "rdk:component:camera", model: "rdk:builtin:fake" },
      { name: "rover", api: "rdk:component:base", model: "rdk:builtin:fake" },
      { name: "wheel", api: "rdk:component:encoder", model: "rdk:builtin:fake" },
      {
        name: "pump",
        api: "rdk:component:motor",
        model: "rdk:builtin:fake",
        attributes: { encoder: "wheel" },
      },
    ],
    network: { bind_address: places.bindAddress },
    agent: { version_control: { "machine-server": places.serverUrl } },
  };
}

function asObject(value: JsonObject[string] | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
