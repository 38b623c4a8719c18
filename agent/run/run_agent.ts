import {
  CredentialsError,
  readCredentialsFile,
} from "../../shared/cloud/credentials/credentials_file.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { type Directories, directoriesOf, prepareDirectories } from "../state/directories.ts";
import { InstanceLock } from "../state/instance_lock.ts";
import { KnownSecrets } from "../cloud/logs/known_secrets.ts";
import { LogQueue } from "../cloud/logs/log_queue.ts";
import type { AgentOptions } from "../options/options.ts";
import type { AgentEnd } from "../service/agent_end.ts";
import { tendWatchdog } from "../service/watchdog.ts";
import { readDefaultsFile } from "../settings/settings_source.ts";
import { openAgentState } from "../state/open_state.ts";
import { runWorkers, type Worker } from "../../shared/workers/run_workers.ts";
import { WorkerHealth } from "../../shared/workers/worker_health.ts";
import { AgentShutdown } from "./agent_shutdown.ts";
import { composeAgent } from "./compose.ts";
import type { StopSignals } from "../service/stop_signals.ts";
import type { AgentDeps } from "./deps.ts";
import { readEnrollmentFile } from "../settings/enrollment_settings.ts";
import { enrollAlone, mayProvision, provisionFirst } from "./provision_first.ts";

const LAST_LOGS_MS = 2_000;

/**
 * Runs the agent until it is stopped; the server is then stopped, too. A machine without
 * credentials is set up first, where there is a NetworkManager to do that with.
 *
 * @throws {EnrollmentSettingsError | CredentialsError | FileError | LockedError | StoreError} one line for the operator
 */
export async function runAgent(
  options: AgentOptions,
  deps: AgentDeps,
  stop: StopSignals,
): Promise<AgentEnd> {
  const { log, clock, service } = deps;
  const secrets = new KnownSecrets((values) => deps.logging.setSecrets(values));
  const defaults = await readDefaultsFile(options.defaultsFile, log.child("settings"));
  const missing = await missingCredentials(options.credentialsFile);
  const enrollment = missing &&
    (options.enrollment ?? await readEnrollmentFile(options.dir) ?? defaults.enrollment);
  const isProvisioned = mayProvision(deps, defaults);
  if (missing && !isProvisioned && !enrollment) throw missing;
  const directories = directoriesOf(options.dir);
  await prepareDirectories(directories);
  await using cleanup = new AsyncDisposableStack();
  const lock = InstanceLock.take(directories.lock);
  cleanup.defer(() => lock.release());
  const state = await openAgentState(directories.database, log);
  cleanup.defer(() => state.close());
  if (missing) {
    const parts = { options, deps, state, defaults, secrets, enrollment };
    if (enrollment && !isProvisioned) await enrollAlone({ ...parts, enrollment }, stop.orderly);
    else await provisionFirst(parts, missing, stop.orderly);
    if (stop.orderly.aborted) return "stop";
  }
  const credentials = await readCredentialsFile(options.credentialsFile);
  secrets.add([credentials.credentials.payload.reveal()]);
  const cloud = deps.openCloud(credentials);
  cleanup.defer(() => cloud.close());
  const logs = openLogQueue(directories, deps);
  cleanup.defer(() => logs?.close(stop.atOnce.aborted ? 0 : LAST_LOGS_MS));
  log.info("machine-agent starts", {
    event: "agent_started",
    version: deps.version,
    dir: options.dir,
  });
  for (const warning of credentials.warnings) log.warn(warning);

  const shutdown = new AgentShutdown(stop.orderly, log);
  cleanup.defer(() => shutdown.begin());
  shutdown.signal.addEventListener("abort", () => service.stopping());
  const workerHealth = new WorkerHealth(clock);
  const { workers, supervisor, restartServer, stuck } = composeAgent({
    options,
    deps,
    state,
    directories,
    credentials,
    cloud,
    partId: credentials.partId,
    defaults,
    secrets,
    workerHealth,
    logQueue: logs,
    shutdown,
  });
  logs?.sendTo(cloud.client(RobotService), credentials.partId);
  stop.atOnce.addEventListener("abort", () => supervisor.killNow());
  cleanup.defer(stop.onRestart?.(restartServer) ?? (() => {}));
  service.ready();
  const watchdog: Worker = {
    name: "watchdog",
    run: (signal) => tendWatchdog({ manager: service, stuck, clock, log }, signal),
  };
  await runWorkers([...workers, watchdog], {
    signal: shutdown.signal,
    clock,
    log,
    health: workerHealth,
  });
  log.info("machine-agent stopped", { event: "agent_stopped" });
  return shutdown.end;
}

/** Undefined where there is a file, whatever is in it. */
async function missingCredentials(file: string): Promise<CredentialsError | undefined> {
  try {
    await readCredentialsFile(file);
    return undefined;
  } catch (error) {
    if (error instanceof CredentialsError && error.code === "missing") return error;
    throw error;
  }
}

/** A queue that cannot be opened must not keep a machine from running. */
function openLogQueue(directories: Directories, deps: AgentDeps): LogQueue | undefined {
  const { clock, log, hostName: host, logging } = deps;
  const addSink = logging.addSink;
  try {
    return new LogQueue({ path: directories.logQueue, host, clock, log, addSink });
  } catch (error) {
    log.error("the agent's log lines cannot be sent to the cloud", {
      event: "log_queue_failed",
      error,
    });
    return undefined;
  }
}
