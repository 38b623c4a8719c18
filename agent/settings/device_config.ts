import type { JsonObject } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { canonicalJson, isJsonObject } from "../../shared/base/json/json.ts";
import type {
  DeviceAgentConfigResponse,
  UpdateInfo,
} from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";

/** A version that the cloud wants to run. */
export interface UpdateTarget {
  /** `0.3.1`, or `customURL` when it is chosen by its address. */
  readonly version: string;
  readonly url: string;
  /** Hexadecimal; empty when the cloud does not know it. */
  readonly sha256: string;
}

/** What the cloud reported last, in the form in which it is also kept on disk. */
export interface DeviceConfig {
  readonly checkIntervalMs: number;
  /** Undefined when the cloud names no version. */
  readonly server: UpdateTarget | undefined;
  readonly agent: UpdateTarget | undefined;
  /** Sections of the `agent` object (spec §2.4), unchecked. */
  readonly sections: JsonObject;
}

/** Reads the cloud's answer. */
export function fromResponse(response: DeviceAgentConfigResponse): DeviceConfig {
  return {
    checkIntervalMs: response.checkInterval ? durationMs(response.checkInterval) : 0,
    server: targetOf(response.viamServerUpdateInfo),
    agent: targetOf(response.agentUpdateInfo),
    sections: {
      advanced_settings: response.advancedSettings ?? {},
      network_configuration: response.networkConfiguration ?? {},
      additional_networks: response.additionalNetworks ?? {},
      system_configuration: response.systemConfiguration ?? {},
    },
  };
}

/** The same for the same settings: clouds send the fields of an object in any order. */
export function toText(config: DeviceConfig): string {
  return canonicalJson(config);
}

/** Reads what {@link toText} wrote; undefined when it is something else. */
export function fromText(text: string): DeviceConfig | undefined {
  try {
    const { checkIntervalMs, server, agent, sections } = JSON.parse(text);
    if (typeof checkIntervalMs !== "number" || !isJsonObject(sections)) return undefined;
    return { checkIntervalMs, server: storedTarget(server), agent: storedTarget(agent), sections };
  } catch {
    return undefined;
  }
}

function targetOf(info: UpdateInfo | undefined): UpdateTarget | undefined {
  if (!info || (info.url === "" && info.version === "")) return undefined;
  return { version: info.version, url: info.url, sha256: info.sha256.toHex() };
}

function storedTarget(value: unknown): UpdateTarget | undefined {
  if (!isJsonObject(value)) return undefined;
  const { version, url, sha256 } = value;
  if (typeof version !== "string" || typeof url !== "string") return undefined;
  return { version, url, sha256: typeof sha256 === "string" ? sha256 : "" };
}
