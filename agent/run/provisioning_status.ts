import type { Watched } from "../../shared/workers/watched.ts";
import type { NetworkReport } from "../networks/report/network_report.ts";
import type { AgentOptions } from "../options/options.ts";
import { networksReport, programReport } from "../status/report.ts";
import { keepStatusFile } from "../status/status_file.ts";
import type { ProgramSnapshot } from "../updates/updater/snapshot.ts";
import type { AgentDeps } from "./deps.ts";

export interface ProvisioningStatusParts {
  readonly options: AgentOptions;
  readonly deps: AgentDeps;
  /** Undefined: networks are left alone. */
  readonly report: Watched<NetworkReport> | undefined;
  /** Default: that somebody sets the machine up. */
  readonly waitingFor?: () => string;
}

/** `status.json` of a machine that has no credentials yet. */
export async function keepProvisioningStatus(
  { options, deps, report, waitingFor }: ProvisioningStatusParts,
  signal: AbortSignal,
): Promise<void> {
  const { clock, service, version } = deps;
  const startedAt = clock.now().toISOString();
  const none = (program: "machine-agent" | "machine-server"): ProgramSnapshot => ({
    program,
    installed: "",
    target: "",
    previous: "",
    state: "idle",
    bytesDownloaded: 0,
    totalBytes: 0,
    error: "",
    lastChanged: undefined,
    waitingFor: "",
    waitingSince: undefined,
    bad: [],
    lastRollback: undefined,
    trialUntil: undefined,
  });
  await keepStatusFile({
    dir: options.dir,
    facts: () => ({
      part_id: "",
      cloud: { address: "", is_connected: false, since: null },
      agent: programReport(none("machine-agent"), version),
      server: programReport(none("machine-server"), ""),
      server_process: { state: "stopped", since: startedAt, failures: 0, last_exit: "" },
      waiting_for: waitingFor?.() ||
        `${options.credentialsFile} is missing; the machine waits to be set up`,
      waiting_since: startedAt,
      settings_problems: [],
      ...(report ? { networks: networksReport(report.value) } : {}),
    }),
    process: { pid: deps.process.pid, mark: deps.process.mark, started_at: startedAt },
    tell: (line) => service.status(line),
    clock,
    log: deps.log.child("status"),
  }, signal);
}
