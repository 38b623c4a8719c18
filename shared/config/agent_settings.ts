import {
  additionalNetworkFields,
  advancedSettingsFields,
  type AgentConfig,
  type AgentField,
  type AgentFieldTable,
  type AgentSettings,
  networkConfigurationFields,
  systemConfigurationFields,
  versionControlFields,
} from "./agent_fields.ts";
import { isLoopbackHost } from "../base/net/loopback.ts";
import { readAgentField } from "./agent_values.ts";
import { type ConfigProblem, type Path, problemAt, type Report } from "./problem.ts";
import { unknownKey } from "./unknown_key.ts";

type Section = Record<string, unknown>;

const SECTIONS = {
  version_control: versionControlFields,
  advanced_settings: advancedSettingsFields,
  network_configuration: networkConfigurationFields,
  system_configuration: systemConfigurationFields,
} as const satisfies Record<string, AgentFieldTable>;
const SECTION_NAMES = Object.keys(SECTIONS) as (keyof typeof SECTIONS)[];

const TAG = /^[A-Za-z0-9][\w-]{0,49}$/;
const MOST_TAGS = 20;

/** Settings of the agent, and what was wrong with what they were made from. */
export interface MergedAgentSettings {
  settings: AgentSettings;
  /** Fields that were not used, with the layer they stand in. */
  problems: ConfigProblem[];
  /** Keys that are not known. */
  warnings: ConfigProblem[];
}

/**
 * Makes the agent's settings out of layers, each an `agent` object (spec §2.4) of which anything
 * may be missing. A later layer wins, with an explicit `0`, `false` or empty text too; below the
 * first layer are the built-in defaults. A field that is wrong is reported and left out, so that
 * the earlier layer's value holds.
 *
 * Objects: `machine_server_env` is merged by variable and `additional_networks` by label, where
 * `null` removes what an earlier layer set. A network is replaced as a whole, never mixed.
 *
 * @param layers for the agent: defaults file, cloud, command line; null and undefined are skipped
 * @param names of the layers, for the messages
 */
export function mergeAgentSettings(
  layers: readonly unknown[],
  names: readonly string[] = [],
): MergedAgentSettings {
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const sections = Object.fromEntries(
    SECTION_NAMES.map((name) => [name, defaultsOf(SECTIONS[name])]),
  );
  let networks: Record<string, unknown> = {};
  layers.forEach((layer, at) => {
    if (layer === undefined || layer === null) return;
    const suffix = names[at] === undefined ? "" : ` (in the ${names[at]})`;
    const tag = (list: ConfigProblem[]) => (problem: ConfigProblem) =>
      list.push({ ...problem, message: problem.message + suffix });
    const read = readAgentConfig(layer, ["agent"], tag(problems), tag(warnings));
    for (const name of SECTION_NAMES) {
      sections[name] = overlay(SECTIONS[name], sections[name] ?? {}, (read[name] ?? {}) as Section);
    }
    networks = withoutNulls({ ...networks, ...read.additional_networks });
  });
  const settings = { ...sections, additional_networks: networks } as unknown as AgentSettings;
  fixRebootTime(settings, problems);
  return { settings, problems, warnings };
}

/**
 * Reads an `agent` object: fields that are wrong are reported and left out, unknown keys are kept
 * and warned about, names from other programs of the family are replaced by ours.
 * `null` in `machine_server_env` and `additional_networks` is kept: it removes what an earlier
 * layer set.
 */
export function readAgentConfig(
  value: unknown,
  path: Path,
  report: Report,
  warn: Report,
): AgentConfig {
  const source = asObject(value, path, report);
  const entries = Object.entries(source ?? {}).flatMap(([key, item]): [string, unknown][] => {
    const at = [...path, key];
    if (item === null || item === undefined) return [];
    const section = SECTION_NAMES.find((name) => name === key);
    if (section) return [[key, readSection(SECTIONS[section], item, at, report, warn)]];
    if (key === "additional_networks") return [[key, readNetworks(item, at, report, warn)]];
    if (key === "tags" && item === "") return [];
    if (key === "tags") return isTagList(item) ? [[key, item]] : reportTags(item, at, report);
    warn(unknownKey(at, item, [...SECTION_NAMES, "additional_networks", "tags"]));
    return [[key, item]];
  });
  return Object.fromEntries(entries) as AgentConfig;
}

/** Whether a value is what `agent.tags` may be. */
function isTagList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MOST_TAGS &&
    value.every((tag) => typeof tag === "string" && TAG.test(tag));
}

function reportTags(value: unknown, path: Path, report: Report): [] {
  const allowed = `at most ${MOST_TAGS} names of letters, digits, - and _, as ["canary"]`;
  report(problemAt(path, value, "this is not a list of tags", allowed));
  return [];
}

function readSection(
  table: AgentFieldTable,
  value: unknown,
  path: Path,
  report: Report,
  warn: Report,
): Section {
  const source = asObject(value, path, report);
  const entries = Object.entries(source ?? {}).flatMap(([key, item]): [string, unknown][] => {
    const known = findField(table, key);
    if (known === undefined) {
      warn(unknownKey([...path, key], item, Object.keys(table)));
      return [[key, item]];
    }
    if (item === undefined || (item === null && known.field.kind !== "tristate")) return [];
    if (item === "" && readAgentField(known.field, item, [], () => {}) === undefined) return [];
    const read = readAgentField(known.field, item, [...path, key], report);
    if (read && known.field.kind === "text" && known.field.form === "version") {
      warnOfPlainAddress(String(read.value), [...path, key], warn);
    }
    return read ? [[known.name, read.value]] : [];
  });
  return Object.fromEntries(entries);
}

/** Agents fetch a program over plain http from another host only where its hash is written. */
function warnOfPlainAddress(version: string, path: Path, warn: Report): void {
  if (!/^http:\/\//i.test(version) || /#sha256=[0-9a-f]{64}$/i.test(version)) return;
  if (isLoopbackHost(new URL(version).hostname)) return;
  const message = "agents refuse a program over plain http whose hash is not known";
  warn(problemAt(path, version, message, "https, or #sha256=HEX behind the address"));
}

function readNetworks(
  value: unknown,
  path: Path,
  report: Report,
  warn: Report,
): Section {
  const source = asObject(value, path, report);
  const entries = Object.entries(source ?? {}).flatMap(([label, item]): [string, unknown][] => {
    if (item === null || item === undefined) return [[label, null]];
    const at = [...path, label];
    let isGood = true;
    const reportBad: Report = (problem) => {
      isGood = false;
      report(problem);
    };
    const network = readSection(additionalNetworkFields, item, at, reportBad, warn);
    if (isGood) checkNetworkKind(network, at, reportBad);
    return isGood ? [[label, { ...defaultsOf(additionalNetworkFields), ...network }]] : [];
  });
  return Object.fromEntries(entries);
}

function checkNetworkKind(network: Section, path: Path, report: Report): void {
  if (network["type"] === undefined) {
    report(problemAt([...path, "type"], undefined, "the type is missing", "wifi or wired"));
  } else if (network["type"] === "wifi" && !network["ssid"]) {
    report(problemAt([...path, "ssid"], undefined, "a wifi network needs its SSID", "1–32 bytes"));
  }
}

/** A reboot must not come before hotspot and retry had their time. */
function fixRebootTime(
  { network_configuration: network }: AgentSettings,
  problems: ConfigProblem[],
) {
  const problem = rebootTimeProblem(network, ["agent", "network_configuration"]);
  if (problem === undefined) return;
  problems.push(problem);
  network.device_reboot_after_offline_minutes = 0;
}

/** The problem with the time of the reboot against the other two times, when there is one. */
export function rebootTimeProblem(
  network: AgentConfig["network_configuration"],
  path: Path,
): ConfigProblem | undefined {
  const key = "device_reboot_after_offline_minutes";
  const reboot = network?.[key] ?? 0;
  const hotspot = network?.offline_before_starting_hotspot_minutes ??
    networkConfigurationFields.offline_before_starting_hotspot_minutes.default;
  const retry = network?.retry_connection_timeout_minutes ??
    networkConfigurationFields.retry_connection_timeout_minutes.default;
  const least = Math.max(hotspot, retry);
  if (reboot === 0 || reboot >= least) return undefined;
  return problemAt(
    [...path, key],
    reboot,
    "the reboot would come before hotspot and retry had their time",
    `0 (never), or at least ${least}`,
  );
}

function overlay(table: AgentFieldTable, base: Section, top: Section): Section {
  const result = { ...base, ...top };
  for (const [key, field] of Object.entries<AgentField>(table)) {
    if (field.kind !== "environment" || top[key] === undefined) continue;
    result[key] = withoutNulls({ ...(base[key] as Section), ...(top[key] as Section) });
  }
  return result;
}

function findField(
  table: AgentFieldTable,
  key: string,
): { name: string; field: AgentField } | undefined {
  const field = Object.hasOwn(table, key) ? table[key] : undefined;
  if (field) return { name: key, field };
  const byAlias = Object.entries<AgentField>(table).find(([, entry]) => entry.alias === key);
  return byAlias && { name: byAlias[0], field: byAlias[1] };
}

function defaultsOf(table: AgentFieldTable): Section {
  return Object.fromEntries(
    Object.entries<AgentField>(table).map(([key, field]) => [key, structuredClone(field.default)]),
  );
}

function withoutNulls(section: Section): Section {
  return Object.fromEntries(Object.entries(section).filter(([, value]) => value !== null));
}

function asObject(value: unknown, path: Path, report: Report): Section | undefined {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Section;
  report(problemAt(path, value, "this is the wrong kind of value", "object"));
  return undefined;
}
