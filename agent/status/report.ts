/**
 * What the agent writes down of itself, and `machine-agent status` reads. The names are part of the
 * interface: they stay, and new ones may come. Times are ISO 8601 in UTC, null where there is none;
 * texts are empty where there is nothing to say.
 */

import type { SystemReport } from "../system/outcomes/system_outcome.ts";
import type { NetworkReport } from "../networks/report/network_report.ts";
import type { ProgramSnapshot } from "../updates/updater/snapshot.ts";

/** How a program and its update stand. */
export interface ProgramReport {
  /** Version that the link names. */
  readonly installed: string;
  /** Version of the running process. */
  readonly running: string;
  /** Version that the cloud names. */
  readonly target: string;
  /** Version to go back to. */
  readonly previous: string;
  /** idle, downloading, waiting, installing, trial, rolling-back, failed or refused. */
  readonly state: string;
  readonly bytes_downloaded: number;
  /** 0 when unknown. */
  readonly total_bytes: number;
  /** Why the last step failed. */
  readonly error: string;
  /** When `installed` became another version. */
  readonly last_changed: string | null;
  readonly waiting_for: string;
  readonly waiting_since: string | null;
  /** When a version on trial is trusted at the earliest. */
  readonly trial_until: string | null;
  readonly bad: readonly {
    readonly version: string;
    readonly reason: string;
    readonly at: string;
  }[];
  readonly last_rollback: {
    readonly from: string;
    readonly to: string;
    readonly reason: string;
    readonly at: string;
  } | null;
}

/** The process of machine-server. */
export interface ServerProcessReport {
  /** starting, running, hung, stopping, backing off, stopped or disabled. */
  readonly state: string;
  readonly since: string | null;
  /** Ends and failed starts since it was healthy last. */
  readonly failures: number;
  /** How it ended last. */
  readonly last_exit: string;
}

/** What the running agent knows. */
export interface AgentFacts {
  readonly part_id: string;
  readonly cloud: {
    readonly address: string;
    readonly is_connected: boolean;
    /** When that became so. */
    readonly since: string | null;
  };
  readonly agent: ProgramReport;
  readonly server: ProgramReport;
  readonly server_process: ServerProcessReport;
  /** What the whole machine waits for, in one sentence. */
  readonly waiting_for: string;
  readonly waiting_since: string | null;
  /** What is wrong in the agent's settings; the rest of them is used. */
  readonly settings_problems: readonly string[];
  /** How `system_configuration` stands; files of older agents have none. */
  readonly system?: SystemReport;
  /** Absent from what agents without it wrote. */
  readonly networks?: NetworksReport;
}

/** How the machine stands with its networks; see docs/networking.md. */
export interface NetworksReport {
  readonly state: string;
  readonly since: string | null;
  readonly detail: string;
  readonly problems: readonly string[];
  readonly reboots: number;
}

export function networksReport(report: NetworkReport): NetworksReport {
  return { ...report, since: timeOf(report.since) };
}

/** The content of `status.json`. */
export interface AgentReport extends AgentFacts {
  readonly format: 1;
  readonly written_at: string;
  readonly process: {
    readonly pid: number;
    /** Distinguishes it from another process of the same number. */
    readonly mark: string;
    readonly started_at: string;
  };
}

/** @param running version of the process; empty when none runs. */
export function programReport(facts: ProgramSnapshot, running: string): ProgramReport {
  const { bad, lastRollback } = facts;
  return {
    installed: facts.installed,
    running,
    target: facts.target,
    previous: facts.previous,
    state: facts.state,
    bytes_downloaded: facts.bytesDownloaded,
    total_bytes: facts.totalBytes,
    error: facts.error,
    last_changed: timeOf(facts.lastChanged),
    waiting_for: facts.waitingFor,
    waiting_since: timeOf(facts.waitingSince),
    trial_until: timeOf(facts.trialUntil),
    bad: bad.map(({ version, reason, at }) => ({ version, reason, at: at.toISOString() })),
    last_rollback: lastRollback ? { ...lastRollback, at: lastRollback.at.toISOString() } : null,
  };
}

export function timeOf(date: Date | undefined): string | null {
  return date?.toISOString() ?? null;
}

/** Reads what {@link AgentReport} wrote; undefined for anything else. */
export function parseReport(text: string): AgentReport | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isReport(json) ? json : undefined;
  } catch {
    return undefined; // A damaged file is as good as none.
  }
}

function isReport(json: unknown): json is AgentReport {
  if (!isObject(json) || json["format"] !== 1 || typeof json["written_at"] !== "string") {
    return false;
  }
  return ["process", "cloud", "agent", "server", "server_process"].every((name) =>
    isObject(json[name])
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
