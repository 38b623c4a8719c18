import { AgentDeviceService } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { Backoff } from "../../shared/time/backoff.ts";
import type { AgentOptions } from "../options/options.ts";
import { type KnownSecrets, secretsOf } from "../logs/known_secrets.ts";
import { MaintenanceWindow } from "../maintenance/maintenance_window.ts";
import { releaseIdleMemory } from "../memory/idle_memory.ts";
import { PlannedRestarts } from "../restart/planned_restarts.ts";
import { pollRestarts } from "../restart/restart_poll.ts";
import { type AgentFacts, DeviceConfigPoll } from "../settings/device_config_poll.ts";
import { waitForFirstAnswer } from "../settings/first_answer.ts";
import { type DefaultsFile, SettingsSource } from "../settings/settings_source.ts";
import type { AgentState } from "../state/agent_state.ts";
import { followSettings } from "../supervision/follow_settings.ts";
import { SupervisedServer } from "../supervision/supervised_server.ts";
import { ServerSupervisor } from "../supervision/supervisor.ts";
import { type WantedServer, wantedServer } from "../supervision/wanted_server.ts";
import { isSameVersion, versionName } from "../versions/server_choice.ts";
import { ServerVersions } from "../versions/server_versions.ts";
import type { Worker } from "../workers/run_workers.ts";
import { anyChange, Watched } from "../workers/watched.ts";
import type { AgentDeps, Cloud } from "./run_agent.ts";

export interface AgentParts {
  readonly options: AgentOptions;
  readonly deps: AgentDeps;
  readonly state: AgentState;
  readonly binDir: string;
  readonly cloud: Cloud;
  readonly partId: string;
  readonly defaults: DefaultsFile;
  readonly secrets: KnownSecrets;
  /** Ends this process so that whoever started it starts what the link leads to now. */
  readonly restartSelf: (reason: string) => void;
}

/** The agent's loops, and the supervisor for who must end the server at once. */
export interface ComposedAgent {
  readonly workers: readonly Worker[];
  readonly supervisor: ServerSupervisor;
  /** Which part does not move any more; undefined while all do. */
  readonly stuck: () => string | undefined;
}

const BACKOFF = { minMs: 1_000, maxMs: 60_000 };

/** Puts the agent together. Nothing runs yet. */
export function composeAgent(parts: AgentParts): ComposedAgent {
  const { options, deps, state, cloud, partId } = parts;
  const { clock, log, askRestartStatus: ask } = deps;
  const settings = new SettingsSource({
    state,
    defaults: parts.defaults,
    overrides: { debug: options.debug || undefined, wait: options.wait || undefined },
    beforeReport: (settings) => parts.secrets.add(secretsOf(settings)),
    clock,
    log: log.child("settings"),
  });
  const versions = new ServerVersions({
    state,
    binDir: parts.binDir,
    clock,
    log: log.child("versions"),
  });
  const wanted = new Watched(wantedServer(settings.current.value.settings, undefined));
  const supervisionLog = log.child("supervision");
  const supervisor = new ServerSupervisor({
    processes: deps.processes,
    state,
    wanted,
    credentialsFile: options.credentialsFile,
    dir: options.dir,
    env: deps.env,
    writeLine: deps.writeLine,
    clock,
    // Alone on its computer it meets nobody, so that there is nothing to spread.
    backoff: new Backoff({ ...BACKOFF, jitter: false }),
    log: supervisionLog,
    errorLog: deps.serverErrorLog,
    redact: (text) => parts.secrets.hide(text),
  });
  const window = new MaintenanceWindow({
    supervisor,
    wanted,
    ask,
    hangTimeoutMs: () => {
      const { advanced_settings: advanced } = settings.current.value.settings;
      return advanced.machine_server_hang_timeout_minutes * 60_000;
    },
    clock,
    log: supervisionLog,
  });
  const planned = new PlannedRestarts({ supervisor, wanted, window, clock, log: supervisionLog });
  const poll = new DeviceConfigPoll({
    client: cloud.client(AgentDeviceService),
    partId,
    host: deps.host,
    facts: factsOf(deps, supervisor, versions),
    settings,
    clock,
    log: log.child("settings"),
  });
  const superviseWhenReady = async (signal: AbortSignal) => {
    const { wait_for_update_check: wait } = settings.current.value.settings.advanced_settings;
    if (wait && !options.fastStart) {
      await waitForFirstAnswer({ answered: poll.answered, clock, log: supervisionLog }, signal);
    }
    await supervisor.run(signal);
  };
  const server = new SupervisedServer({
    supervisor,
    wanted,
    silence: () => {
      const heard = window.current();
      if (!heard) return "machine-server was not asked yet";
      return heard.kind === "silent" ? heard.why : undefined;
    },
    reachesCloud: () => window.current()?.cloudReached ?? poll.reached.value,
    agentReachesCloud: () => poll.reached.value,
  });
  const restarts = {
    client: cloud.client(RobotService),
    partId,
    restart: () => planned.request("the cloud asks for it"),
    clock,
    log: log.child("restart"),
  };
  const { current } = settings;
  const workers: Worker[] = [
    { name: "settings", run: (signal) => poll.run(signal) },
    { name: "log level", run: (signal) => followDebug(current, deps.logging, signal) },
    {
      name: "server settings",
      run: (signal) => followSettings({ current, wanted }, signal),
    },
    {
      name: "versions",
      run: (signal) => followVersion({ current, versions, wanted, window, server, clock }, signal),
    },
    { name: "supervision", run: superviseWhenReady },
    { name: "maintenance window", run: (signal) => window.run(signal) },
    { name: "planned restart", run: (signal) => planned.run(signal) },
    { name: "restart poll", run: (signal) => pollRestarts(restarts, signal) },
    {
      name: "memory",
      run: (signal) => releaseIdleMemory({ collect: deps.collect, clock }, signal),
    },
  ];
  return { workers, supervisor, stuck: () => undefined };
}

function factsOf(
  { version, clock }: AgentDeps,
  supervisor: ServerSupervisor,
  versions: ServerVersions,
): () => AgentFacts {
  const startedMs = clock.monotonicMs();
  return () => {
    const nowMs = clock.monotonicMs();
    const { launched } = supervisor;
    const { installed } = versions;
    return {
      agentVersion: version,
      agentUptimeMs: nowMs - startedMs,
      serverInstalled: installed ? versionName(installed) : "",
      serverRunning: launched ? versionName(launched.version) : "",
      serverUptimeMs: launched && nowMs - launched.startedMs,
    };
  };
}

interface FollowVersionOptions {
  readonly current: SettingsSource["current"];
  readonly versions: ServerVersions;
  readonly wanted: Watched<WantedServer>;
  readonly window: MaintenanceWindow;
  readonly server: SupervisedServer;
  readonly clock: AgentDeps["clock"];
}

const LOOK_AGAIN_MS = 10_000;

/** Exchanges the server for the one that the cloud names, as soon as that is allowed. */
async function followVersion(
  { current, versions, wanted, window, server, clock }: FollowVersionOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { device } = current.value;
    const version = device ? await versions.wanted(device.server) : versions.installed;
    const running = wanted.value.version;
    const isNew = version && (!running || !isSameVersion(version, running));
    if (isNew && (!running || (await window.check()).allowed)) {
      await server.stop();
      await versions.install(version);
      server.start(version);
    }
    await anyChange([current], signal, { clock, ms: LOOK_AGAIN_MS });
  }
}

/** Debug logging as the settings say, from now on. */
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
