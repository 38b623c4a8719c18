import { AgentDeviceService } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { Backoff } from "../../shared/base/time/backoff.ts";
import { secretsOf } from "../cloud/logs/known_secrets.ts";
import { MaintenanceWindow } from "../server/maintenance/maintenance_window.ts";
import { openedUntil } from "../server/maintenance/opened_window.ts";
import { releaseIdleMemory } from "../../shared/base/memory/idle_memory.ts";
import { PlannedRestarts } from "../server/restart/planned_restarts.ts";
import { pollRestarts } from "../server/restart/restart_poll.ts";
import { CloudReach } from "../settings/cloud_reach.ts";
import { type AgentFacts, DeviceConfigPoll } from "../settings/device_config_poll.ts";
import { waitForUpdates } from "../settings/first_answer.ts";
import { SettingsSource } from "../settings/settings_source.ts";
import { followSettings } from "../server/supervision/follow_settings.ts";
import { SupervisedServer } from "../server/trials/supervised_server.ts";
import { ServerSupervisor } from "../server/supervision/supervisor.ts";
import { wantedServer } from "../server/supervision/wanted_server.ts";
import { versionName } from "../updates/updater/target.ts";
import type { Updater } from "../updates/updater/updater.ts";
import type { Worker } from "../../shared/workers/run_workers.ts";
import { Watched } from "../../shared/workers/watched.ts";
import { AgentHealth } from "./agent_health.ts";
import { composeNetworks } from "./compose_networks.ts";
import { composeReleases } from "./compose_releases.ts";
import { composeReporting } from "./compose_reporting.ts";
import { composeSystem } from "./compose_system.ts";
import { composeUpdates } from "./compose_updates.ts";
import type { AgentDeps, AgentParts } from "./deps.ts";
import { replaceDamaged } from "./replace_damaged.ts";
import { rememberServed } from "./remember_served.ts";
import { RunningAgent } from "./running_agent.ts";

/** The agent's loops, and the supervisor for who must end the server at once. */
export interface ComposedAgent {
  readonly workers: readonly Worker[];
  readonly supervisor: ServerSupervisor;
  /** The operator of this host wants the server restarted. */
  readonly restartServer: () => void;
  /** Which part does not move any more; undefined while all do. */
  readonly stuck: () => string | undefined;
}

const BACKOFF = { minMs: 1_000, maxMs: 60_000 };

/** Puts the agent together. Nothing runs yet. */
export function composeAgent(parts: AgentParts): ComposedAgent {
  const { options, deps, state, cloud, partId, workerHealth } = parts;
  const { clock, log } = deps;
  const settings = new SettingsSource({
    state,
    defaults: parts.defaults,
    overrides: { debug: options.debug, wait: options.wait },
    beforeReport: (settings) => parts.secrets.add(secretsOf(settings)),
    clock,
    log: log.child("settings"),
  });
  const { current } = settings;
  const supervision = composeSupervision(parts, current);
  const { supervisor, wanted, window, planned, isWaitingForUpdates } = supervision;
  const reach = new CloudReach();
  const server = new SupervisedServer({ supervisor, wanted, window, reach });
  const health = new AgentHealth({
    workers: workerHealth,
    reach,
    server,
    wanted,
    servedBefore: state.serverServed(),
  });
  const { self, version } = deps;
  const agent = new RunningAgent({ self, version, health, shutdown: parts.shutdown });
  const releases = composeReleases(parts);
  const updates = composeUpdates({
    deps,
    policy: releases.policy,
    directories: parts.directories,
    state,
    credentials: parts.credentials,
    settings: current,
    server,
    agent,
    window,
    supervisor,
  });
  const poll = new DeviceConfigPoll({
    client: cloud.client(AgentDeviceService),
    partId,
    host: deps.host,
    facts: factsOf(deps, supervisor, updates.server),
    settings,
    reach,
    onTurn: () => workerHealth.beat("settings"),
    clock,
    log: log.child("settings"),
  });
  const system = composeSystem(parts, current);
  const networks = composeNetworks({
    ...parts,
    current,
    cloudAnswered: reach.reached,
    mayReboot: () => window.latest().allowed,
  });
  const reporting = composeReporting({
    ...parts,
    system: system.status,
    ...supervision,
    current,
    reach,
    updates,
    releases,
    networks: networks.report,
  });
  const superviseWhenReady = async (signal: AbortSignal) => {
    const { wait_for_update_check: wait } = current.value.settings.advanced_settings;
    if (wait && !options.fastStart) {
      isWaitingForUpdates.value = true;
      const { wantedServerVersion: wanted } = reporting;
      const waiting = { wanted, update: updates.server, clock, log: log.child("supervision") };
      await waitForUpdates(waiting, signal).finally(() => isWaitingForUpdates.value = false);
    }
    await supervisor.run(signal);
  };
  const restarts = {
    client: cloud.client(RobotService),
    partId,
    restart: () => planned.request("requested by the cloud"),
    clock,
    log: log.child("restart"),
  };
  const served = { window, supervisor, state, log: log.child("supervision") };
  const damaged = {
    supervisor,
    update: updates.server,
    cacheDir: parts.directories.cache,
    clock,
    log: log.child("updates"),
  };
  const workers: Worker[] = [
    { name: "settings", run: (signal) => poll.run(signal) },
    { name: "log level", run: (signal) => followDebug(current, deps.logging, signal) },
    { name: "server settings", run: (signal) => followSettings({ current, wanted }, signal) },
    { name: "supervision", run: superviseWhenReady },
    { name: "maintenance window", run: (signal) => window.run(signal) },
    { name: "server health", run: (signal) => rememberServed(served, signal) },
    { name: "server file", run: (signal) => replaceDamaged(damaged, signal) },
    { name: "planned restart", run: (signal) => planned.run(signal) },
    { name: "restart poll", run: (signal) => pollRestarts(restarts, signal) },
    ...updates.workers,
    networks.worker,
    ...reporting.workers,
    ...system.workers,
    {
      name: "memory",
      run: (signal) => releaseIdleMemory({ memory: deps.memory, clock }, signal),
    },
  ];
  return {
    workers,
    supervisor,
    restartServer: () => planned.request("requested by the operator of this host"),
    stuck: () => health.stuck(),
  };
}

/** The server's process, and who decides when it may be restarted. */
function composeSupervision(
  { options, deps, state, secrets }: AgentParts,
  current: SettingsSource["current"],
) {
  const { clock } = deps;
  const log = deps.log.child("supervision");
  const wanted = new Watched(wantedServer(current.value.settings, undefined));
  const supervisor = new ServerSupervisor({
    processes: deps.processes,
    state,
    wanted,
    credentialsFile: options.credentialsFile,
    dir: options.dir,
    env: deps.env,
    writeLine: deps.writeLine,
    clock,
    // Alone on its host it meets nobody, so that there is nothing to spread.
    backoff: new Backoff({ ...BACKOFF, jitter: false }),
    log,
    errorLog: deps.serverErrorLog,
    redact: (text) => secrets.hide(text),
  });
  const isWaitingForUpdates = new Watched(false);
  const window = new MaintenanceWindow({
    supervisor,
    wanted,
    isWaitingForUpdates,
    ask: deps.askRestartStatus,
    openedUntil: () => openedUntil(options.dir, clock.now()),
    hangTimeoutMs: () => {
      const { advanced_settings: advanced } = current.value.settings;
      return advanced.machine_server_hang_timeout_minutes * 60_000;
    },
    clock,
    log,
  });
  const planned = new PlannedRestarts({ supervisor, wanted, window, clock, log });
  return { supervisor, wanted, window, planned, isWaitingForUpdates };
}

function factsOf(
  { version, clock }: AgentDeps,
  supervisor: ServerSupervisor,
  server: Updater,
): () => AgentFacts {
  const startedMs = clock.monotonicMs();
  return () => {
    const nowMs = clock.monotonicMs();
    const { launched } = supervisor;
    return {
      agentVersion: version,
      agentUptimeMs: nowMs - startedMs,
      serverInstalled: server.snapshot().installed,
      serverRunning: launched ? versionName(launched.version) : "",
      serverUptimeMs: launched && nowMs - launched.startedMs,
    };
  };
}

/** Debug logging as the settings specify, from now on. */
async function followDebug(
  current: SettingsSource["current"],
  logging: AgentDeps["logging"],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    logging.setDebugMode(current.value.settings.advanced_settings.debug);
    await current.changed(signal);
  }
}
