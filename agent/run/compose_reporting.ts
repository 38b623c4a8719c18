import { AgentService } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { Commands } from "../cloud/reporting/commands.ts";
import { agentStatus, type StatusFacts } from "../cloud/reporting/agent_status.ts";
import { StatusReporter } from "../cloud/reporting/status_reporter.ts";
import { TargetsPoll } from "../updates/keys/targets_poll.ts";
import type { PlannedRestarts } from "../server/restart/planned_restarts.ts";
import type { CloudReach } from "../settings/cloud_reach.ts";
import type { CurrentSettings } from "../settings/settings_source.ts";
import { agentFacts } from "../status/agent_facts.ts";
import { keepStatusFile } from "../status/status_file.ts";
import type { ServerSupervisor } from "../server/supervision/supervisor.ts";
import type { WantedServer } from "../server/supervision/wanted_server.ts";
import { versionName } from "../updates/updater/target.ts";
import type { SystemStatus } from "../system/outcomes/system_status.ts";
import type { Worker } from "../../shared/workers/run_workers.ts";
import { Watched } from "../../shared/workers/watched.ts";
import type { MaintenanceWindow } from "../server/maintenance/maintenance_window.ts";
import type { ComposedReleases } from "./compose_releases.ts";
import type { ComposedUpdates } from "./compose_updates.ts";
import type { NetworkReport } from "../networks/report/network_report.ts";
import type { AgentParts } from "./deps.ts";

export interface ReportingParts extends AgentParts {
  readonly current: Watched<CurrentSettings>;
  readonly supervisor: ServerSupervisor;
  readonly wanted: Watched<WantedServer>;
  readonly window: MaintenanceWindow;
  readonly planned: PlannedRestarts;
  readonly reach: CloudReach;
  readonly updates: ComposedUpdates;
  readonly releases: ComposedReleases;
  readonly system: SystemStatus;
  readonly networks: Watched<NetworkReport>;
}

/** What goes from this agent to the cloud and to people, and what operators send back. */
export interface ComposedReporting {
  /** Which server the cloud wants; empty: none; undefined until it was learned of in this run. */
  readonly wantedServerVersion: Watched<string | undefined>;
  readonly workers: readonly Worker[];
}

export function composeReporting(parts: ReportingParts): ComposedReporting {
  const { deps, state, partId, current, reach, updates, planned, window } = parts;
  const { clock } = deps;
  const log = deps.log.child("reporting");
  const client = parts.cloud.client(AgentService);
  const db = state.database;
  const wantedServerVersion = new Watched<string | undefined>(undefined);
  const facts = statusFacts(parts);
  const targets = new TargetsPoll({
    client,
    partId,
    platform: deps.host.platform,
    installed: () => ({
      agent: updates.agent.snapshot().installed,
      server: updates.server.snapshot().installed,
    }),
    trusted: () => ({
      agent: updates.agent.trusted?.version ?? "",
      server: updates.server.trusted?.version ?? "",
    }),
    current,
    answered: reach.answered,
    keys: parts.releases.keys,
    policy: parts.releases.policy,
    onTargets: ({ agent, server }) => {
      updates.agent.setTarget(agent);
      updates.server.setTarget(server);
      wantedServerVersion.value = server && !server.problem ? versionName(server) : "";
    },
    clock,
    log,
  });
  const commands = new Commands({ db, programs: commandedPrograms(parts), clock, log });
  const { supervisor, wanted } = parts;
  const reporter = new StatusReporter({
    client,
    partId,
    status: () => agentStatus({ ...facts(), finishedCommands: [] }),
    changes: [
      updates.agent.changed,
      updates.server.changed,
      supervisor.state,
      window.observed,
      planned.waiting,
      current,
      wanted,
      parts.system.report,
      parts.networks,
    ],
    commands,
    clock,
    log,
  });
  return {
    wantedServerVersion,
    workers: [
      { name: "targets", run: (signal) => targets.run(signal) },
      { name: "status report", run: (signal) => reporter.run(signal) },
      { name: "status file", run: statusFileWorker(parts, facts) },
    ],
  };
}

type Facts = () => Omit<StatusFacts, "finishedCommands">;

function statusFacts(parts: ReportingParts): Facts {
  const { deps, current, supervisor, wanted, window, planned, updates } = parts;
  const agentStarted = deps.clock.now();
  return () => {
    const { launched, failures } = supervisor;
    const state = supervisor.state.value;
    return {
      agent: updates.agent.snapshot(),
      server: updates.server.snapshot(),
      agentRunning: deps.version,
      serverRunning: launched ? versionName(launched.version) : "",
      process: {
        state: state.kind,
        since: supervisor.since.date,
        failures: "failures" in state ? state.failures : 0,
        lastExit: failures.reason,
        isHung: window.isHung,
        isDisabled: !wanted.value.isEnabled,
      },
      waitingRestart: planned.waiting.value,
      platform: deps.host.platform,
      agentStarted,
      settingsProblems: [...current.value.problems, ...parts.system.problems()],
      networks: parts.networks.value,
    };
  };
}

function commandedPrograms({ deps, updates, planned, shutdown }: ReportingParts) {
  const restartAgent = () => {
    // Where nothing starts it again it would be gone permanently.
    const { problem } = deps.self;
    if (problem === undefined) return shutdown.restart("requested by an operator");
    deps.log.error("machine-agent is not restarted", {
      event: "agent_not_restarted",
      reason: problem,
    });
  };
  const forget = (program: "agent" | "server") => (version: string) => {
    updates.forgetRefusals(`machine-${program}`, version);
    updates[program].forgetBad(version === "" ? undefined : version);
  };
  return {
    "machine-server": {
      force: () => {
        updates.server.force();
        if (planned.waiting.value) planned.force("forced by an operator");
      },
      forgetBad: forget("server"),
      restart: () => planned.force("requested by an operator"),
    },
    "machine-agent": {
      force: () => updates.agent.force(),
      forgetBad: forget("agent"),
      restart: restartAgent,
    },
  };
}

function statusFileWorker(parts: ReportingParts, facts: Facts): Worker["run"] {
  const { options, deps, partId, credentials, reach } = parts;
  const { clock } = deps;
  const log = deps.log.child("status");
  const startedAt = clock.now().toISOString();
  let connected = { is: reach.reached.value, since: undefined as Date | undefined };
  return (signal) =>
    keepStatusFile({
      dir: options.dir,
      facts: () => {
        const is = reach.reached.value;
        if (is !== connected.is) connected = { is, since: clock.now() };
        return agentFacts(facts(), {
          partId,
          cloudAddress: credentials.appAddress,
          isConnected: is,
          connectedSince: connected.since,
          system: parts.system.report.value,
        });
      },
      process: { pid: deps.process.pid, mark: deps.process.mark, started_at: startedAt },
      tell: (line) => deps.service.status(line),
      clock,
      log,
    }, signal);
}
