import type { JsonObject } from "@bufbuild/protobuf";

/** Where the demo machine's parts are found. */
export interface DemoPlaces {
  /** `host:port` that the machine's server listens on. */
  bindAddress: string;
  /** `file://` URL of the machine server's program. */
  serverUrl: string;
}

/** The configuration that a new demo machine gets. */
export function demoConfig(places: DemoPlaces): JsonObject {
  return {
    components: [
      { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" },
      {
        name: "greenhouse",
        api: "rdk:component:sensor",
        model: "rdk:builtin:fake",
        attributes: { readings: { temperature: 19.5 } },
      },
    ],
    network: { bind_address: places.bindAddress },
    agent: { version_control: { "machine-server": places.serverUrl } },
  };
}

/**
 * Gives the configuration of an earlier run its places of this run: another port, another folder.
 * Returns undefined when nothing is to be changed.
 */
export function movedConfig(config: JsonObject, places: DemoPlaces): JsonObject | undefined {
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

function asObject(value: JsonObject[string] | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
