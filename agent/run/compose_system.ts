import { join } from "node:path";
import type { AgentSettings } from "../../shared/config/agent_fields.ts";
import type { Worker } from "../../shared/workers/run_workers.ts";
import type { Watched } from "../../shared/workers/watched.ts";
import type { LogQueue } from "../cloud/logs/log_queue.ts";
import type { CurrentSettings } from "../settings/settings_source.ts";
import { applyJournaldLimits } from "../system/journald/journald_limits.ts";
import { parseIdentifiers } from "../system/log_forwarding/identifiers.ts";
import { Journal } from "../system/log_forwarding/journal.ts";
import { LogForwarder, type WantedForwarding } from "../system/log_forwarding/log_forwarder.ts";
import { KeptOriginals } from "../system/originals/kept_originals.ts";
import { keepApplied } from "../system/outcomes/keep_applied.ts";
import type { SystemFacts } from "../system/outcomes/system_access.ts";
import { closedGate } from "../system/outcomes/system_gate.ts";
import type { SystemOutcome } from "../system/outcomes/system_outcome.ts";
import { SystemStatus } from "../system/outcomes/system_status.ts";
import { Apt } from "../system/upgrades/apt.ts";
import { applyUpgrades } from "../system/upgrades/os_upgrades.ts";
import type { AgentParts } from "./deps.ts";

/** What the agent keeps of the operating system as `system_configuration` says. */
export interface ComposedSystem {
  readonly status: SystemStatus;
  readonly workers: readonly Worker[];
}

type Part = Pick<AgentParts, "deps" | "directories" | "options" | "secrets"> & {
  readonly logQueue: LogQueue | undefined;
};
type Gate = (names: Parameters<typeof closedGate>[1]) =>
  | { readonly closed: SystemOutcome }
  | { readonly settings: AgentSettings["system_configuration"] }
  | undefined;

const ROOT = "/";

export function composeSystem(parts: Part, current: Watched<CurrentSettings>): ComposedSystem {
  const { deps, directories, options } = parts;
  const { run, clock } = deps;
  const status = new SystemStatus(deps.log.child("system"));
  const facts: SystemFacts = { ...deps.system, isDevelopment: options.devMode };
  const place = { root: ROOT, dir: directories.root, run };
  const upgrades = {
    run,
    originals: new KeptOriginals(ROOT, directories.root),
    apt: new Apt(run, join(directories.root, "tmp")),
    tell: (outcome: SystemOutcome) => status.tell("upgrades", outcome),
  };
  const gate = (of: SystemFacts): Gate => (names) => {
    const { settings, device } = current.value;
    // The cloud may know better than the defaults: shrinking logs cannot be undone.
    if (device === undefined) return undefined;
    const closed = closedGate(settings, names, of);
    return closed ? { closed } : { settings: settings.system_configuration };
  };
  const changing = gate(facts);
  const workers: Worker[] = [
    {
      name: "journald limits",
      run: (signal) =>
        keepApplied({
          changes: [current],
          wanted: () => {
            const open = changing([
              "logging_journald_system_max_use_megabytes",
              "logging_journald_runtime_max_use_megabytes",
            ]);
            return open === undefined || "closed" in open ? open : {
              system: open.settings.logging_journald_system_max_use_megabytes,
              runtime: open.settings.logging_journald_runtime_max_use_megabytes,
            };
          },
          apply: (wanted, signal) =>
            "closed" in wanted
              ? Promise.resolve(wanted.closed)
              : applyJournaldLimits(place, wanted, signal),
          tell: (outcome) => status.tell("journald", outcome),
          clock,
        }, signal),
    },
    {
      name: "system upgrades",
      run: (signal) =>
        keepApplied({
          changes: [current],
          wanted: () => {
            const open = changing(["os_auto_upgrade_type"]);
            return open === undefined || "closed" in open
              ? open
              : { type: open.settings.os_auto_upgrade_type };
          },
          apply: (wanted, signal) =>
            "closed" in wanted
              ? Promise.resolve(wanted.closed)
              : applyUpgrades(upgrades, wanted.type, signal),
          tell: upgrades.tell,
          clock,
        }, signal),
    },
    // Reading changes nothing, so that it also works in development.
    forwardingWorker(parts, current, gate({ ...facts, isDevelopment: false }), status),
  ];
  return { status, workers };
}

function forwardingWorker(
  { deps, secrets, logQueue }: Part,
  current: Watched<CurrentSettings>,
  gate: Gate,
  status: SystemStatus,
): Worker {
  const { run, processes, env, system, clock, log, hostName: host } = deps;
  // Requested at each line of the journal.
  let known: { of: CurrentSettings; wanted: WantedForwarding | undefined } | undefined;
  const forwarder = new LogForwarder({
    journal: new Journal({ run, processes, path: env["PATH"] ?? "" }),
    queue: logQueue?.reader("journal"),
    wanted: () => {
      if (known?.of !== current.value) {
        known = { of: current.value, wanted: wantedForwarding(gate) };
      }
      return known.wanted;
    },
    changes: [current],
    host,
    ownUnit: system.ownUnit,
    boot: system.boot,
    hide: (text) => secrets.hide(text),
    tell: (outcome) => status.tell("log_forwarding", outcome),
    clock,
    log: log.child("system"),
  });
  return { name: "system logs", run: (signal) => forwarder.run(signal) };
}

function wantedForwarding(gate: Gate): WantedForwarding | undefined {
  const open = gate(["forward_system_logs"]);
  if (open === undefined) return undefined;
  if ("closed" in open) {
    const { text, state } = open.closed;
    return { kind: "off", reason: text, isImpossible: state === "no-effect" };
  }
  const identifiers = parseIdentifiers(open.settings.forward_system_logs);
  return identifiers === undefined
    ? { kind: "off", reason: "no system logs are forwarded" }
    : { kind: "on", identifiers };
}
