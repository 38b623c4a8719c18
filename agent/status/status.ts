import { join } from "node:path";
import {
  CredentialsError,
  readCredentialsFile,
} from "../../shared/cloud/credentials/credentials_file.ts";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { guardFiles, readTrial } from "../updates/guard/trial_file.ts";
import type { StatusOptions } from "../options/options.ts";
import type { ServiceState } from "../service/service_state.ts";
import { type AgentReport, parseReport } from "./report.ts";
import { statusPath } from "./status_file.ts";

/** The credentials file, without what is secret in it. */
export interface CredentialsStatus {
  readonly file: string;
  /** ok, missing, unreadable or invalid. */
  readonly state: "ok" | CredentialsError["code"];
  /** What is wrong with it. */
  readonly problem: string;
  readonly part_id: string;
  readonly cloud_address: string;
}

/** What `machine-agent status --json` prints. */
export interface Status {
  /** Of the program that prints this. */
  readonly version: string;
  readonly dir: string;
  /** Whether an agent works in the folder. */
  readonly is_running: boolean;
  readonly service: ServiceState | null;
  readonly credentials: CredentialsStatus;
  /** Where the links in `bin` lead, whatever the agent reports; empty: nowhere. */
  readonly links: { readonly agent: string; readonly server: string };
  /** The start guard's watch over a new version of the agent. */
  readonly agent_trial: {
    readonly trial: string;
    readonly previous: string;
    readonly starts: number;
  } | null;
  /** What the agent wrote down last, also when it does not run any more. */
  readonly report: AgentReport | null;
}

export interface StatusSources {
  readonly version: string;
  /** When a process started; undefined when there is none. */
  readonly startOf: (pid: number) => string | undefined;
  readonly serviceState: () => Promise<ServiceState | undefined>;
}

/**
 * Gathers everything without changing anything; no agent has to run.
 *
 * @throws {FileError} when the agent's files may not be read.
 */
export async function gatherStatus(
  { dir, credentialsFile }: StatusOptions,
  { version, startOf, serviceState }: StatusSources,
): Promise<Status> {
  const text = await readIfExists(statusPath(dir));
  const report = text === undefined ? undefined : parseReport(text);
  const trial = await readTrial(dir);
  return {
    version,
    dir,
    is_running: report !== undefined && startOf(report.process.pid) === report.process.mark,
    service: await serviceState() ?? null,
    credentials: await credentialsStatus(credentialsFile),
    links: {
      agent: await linkTarget(guardFiles(dir).link),
      server: await linkTarget(join(dir, "bin", "machine-server")),
    },
    agent_trial: typeof trial === "object"
      ? { trial: trial.trial, previous: trial.previous, starts: trial.starts }
      : null,
    report: report ?? null,
  };
}

async function credentialsStatus(file: string): Promise<CredentialsStatus> {
  try {
    const { partId, appAddress, warnings } = await readCredentialsFile(file);
    return {
      file,
      state: "ok",
      problem: warnings[0] ?? "",
      part_id: partId,
      cloud_address: appAddress,
    };
  } catch (error) {
    if (!(error instanceof CredentialsError)) throw error;
    return { file, state: error.code, problem: error.message, part_id: "", cloud_address: "" };
  }
}

async function linkTarget(path: string): Promise<string> {
  try {
    return await Deno.readLink(path);
  } catch {
    // Windows has a file that holds the path.
    return (await readIfExists(`${path}.current`))?.trim() ?? "";
  }
}
