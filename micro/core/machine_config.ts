import type { JsonObject, Messages } from "../../shared/gen/micro/messages.ts";
import type { ResourceConfig } from "./resources/graph.ts";
import { isObject } from "./resources/attributes.ts";

/** A key or a secret that opens the machine. */
export interface Key {
  readonly type: "api-key" | "robot-secret" | "robot-location-secret";
  /** Id of the key, or the name it is used with; empty: any. */
  readonly entity: string;
  readonly secret: string;
  readonly role: "owner" | "operator";
}

/** A method that is called again and again, its answers uploaded. */
export interface Capture {
  readonly resource: string;
  readonly api: string;
  readonly method: string;
  readonly hz: number;
  readonly tags: readonly string[];
}

/** What the device makes of the cloud's configuration. */
export interface MachineConfig {
  readonly revision: string;
  readonly resources: readonly ResourceConfig[];
  readonly captures: readonly Capture[];
  /** Attributes of the data manager; undefined: nothing is captured. */
  readonly dataManager: JsonObject | undefined;
  /** Attributes of the service for updates; undefined: there is none. */
  readonly ota: JsonObject | undefined;
  readonly keys: readonly Key[];
  readonly cloud: Messages["viam.app.v1.CloudConfig"] | undefined;
  /** The port is to be without TLS. */
  readonly noTls: boolean;
  /** How long a client's session lives without a heartbeat; undefined: the default. Milliseconds. */
  readonly sessionMs: number | undefined;
  /** What is wrong or has no effect, one sentence each. */
  readonly warnings: readonly string[];
}

/** Most resources of a device. */
const MOST_RESOURCES = 64;
const API_KEY = 2;
const FASTEST_HZ = 100;
const OTA_MODEL = "rdk:builtin:ota_service";

/** @throws Error where the whole configuration cannot be used */
export function readConfig(config: Messages["viam.app.v1.RobotConfig"]): MachineConfig {
  const { components, services, auth, cloud, network, revision } = config;
  if (components.length > MOST_RESOURCES) {
    throw new Error(
      `the configuration has ${components.length} components; a device takes ${MOST_RESOURCES}`,
    );
  }
  const warnings: string[] = [];
  const resources: ResourceConfig[] = [];
  const captures: Capture[] = [];
  const names = new Set<string>();
  const add = (one: ResourceConfig): boolean => {
    if (names.has(one.name)) {
      warnings.push(`there are two resources ${one.name}; the second has no effect`);
      return false;
    }
    names.add(one.name);
    resources.push(one);
    return true;
  };
  for (const { name, api, type, model, attributes = {}, dependsOn, serviceConfigs } of components) {
    const whole = api || `rdk:component:${type}`;
    if (!add({ name, api: whole, model, attributes, dependsOn })) continue;
    for (const { type: service, attributes: given } of serviceConfigs) {
      if (!/data_manager$/.test(service)) continue;
      captures.push(...readCaptures(name, whole, given ?? {}, warnings));
    }
  }
  let dataManager: JsonObject | undefined;
  let ota: JsonObject | undefined;
  for (const { name, api, type, model, attributes = {} } of services) {
    const whole = api || `rdk:service:${type}`;
    if (whole === "rdk:service:data_manager") dataManager = attributes;
    else if (model === OTA_MODEL) ota = attributes;
    else add({ name, api: whole, model, attributes, dependsOn: [] });
  }
  if (captures.length > 0 && !dataManager) {
    warnings.push("data is not captured: add the data management service to the machine");
  }
  return {
    revision,
    resources,
    captures,
    dataManager,
    ota,
    keys: readKeys(auth, cloud),
    cloud,
    noTls: network?.noTls ?? false,
    sessionMs: network?.sessions?.heartbeatWindow || undefined,
    warnings,
  };
}

function readCaptures(
  resource: string,
  api: string,
  attributes: JsonObject,
  warnings: string[],
): Capture[] {
  const list = attributes["capture_methods"];
  if (!Array.isArray(list)) return [];
  return list.flatMap((one) => {
    if (!isObject(one) || one["disabled"] === true) return [];
    const { method, capture_frequency_hz: hz, tags } = one;
    if (typeof method !== "string" || typeof hz !== "number" || !(hz > 0)) {
      warnings.push(
        `${resource}: capture_methods needs a method and a capture_frequency_hz above 0`,
      );
      return [];
    }
    if (hz > FASTEST_HZ) {
      warnings.push(`${resource}: ${method} is captured ${FASTEST_HZ} times a second`);
    }
    const texts = Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [];
    return [{ resource, api, method, hz: Math.min(hz, FASTEST_HZ), tags: texts }];
  });
}

function readKeys(
  auth: Messages["viam.app.v1.AuthConfig"] | undefined,
  cloud: Messages["viam.app.v1.CloudConfig"] | undefined,
): Key[] {
  const keys: Key[] = [];
  for (const { type, config = {} } of auth?.handlers ?? []) {
    if (type !== API_KEY) continue;
    for (const [entity, secret] of Object.entries(config)) {
      if (entity === "keys" || typeof secret !== "string" || secret === "") continue;
      keys.push({ type: "api-key", entity, secret, role: "owner" });
    }
  }
  for (const { secret } of cloud?.locationSecrets ?? []) {
    if (secret) keys.push({ type: "robot-location-secret", entity: "", secret, role: "operator" });
  }
  return keys;
}
