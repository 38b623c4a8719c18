import type { DescService } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import {
  type MachineCredentials,
  readCredentialsFile,
} from "../../shared/credentials/credentials_file.ts";
import type { HostInfo } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import type { Logging } from "../../shared/log/configure.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { ProcessRunner } from "../../shared/process/child_process.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { type Directories, directoriesOf, prepareDirectories } from "../directories/directories.ts";
import { InstanceLock } from "../lock/instance_lock.ts";
import { KnownSecrets } from "../logs/known_secrets.ts";
import { LogQueue } from "../logs/log_queue.ts";
import type { CollectGarbage } from "../memory/idle_memory.ts";
import type { AgentOptions } from "../options/options.ts";
import { readDefaultsFile } from "../settings/settings_source.ts";
import { AgentState } from "../state/agent_state.ts";
import type { AskRestartStatus } from "../supervision/restart_status.ts";
import { runWorkers } from "../workers/run_workers.ts";
import { composeAgent } from "./compose.ts";
import type { StopSignals } from "./stop_signals.ts";

/** The connection to the cloud. */
export interface Cloud {
  client<S extends DescService>(service: S): Client<S>;
  close(): void;
}

/** Everything from outside. */
export interface AgentDeps {
  /** Of this program. */
  readonly version: string;
  readonly host: HostInfo;
  readonly hostName: string;
  readonly env: Readonly<Record<string, string>>;
  readonly processes: ProcessRunner;
  readonly openCloud: (credentials: MachineCredentials) => Cloud;
  readonly askRestartStatus: AskRestartStatus;
  /** Passes on a line of the server's standard output. */
  readonly writeLine: (line: string) => void;
  readonly collect: CollectGarbage;
  readonly clock: Clock;
  readonly logging: Pick<Logging, "addSink" | "setDebugMode" | "setSecrets">;
  readonly log: Logger;
  /** Gets the server's standard error. */
  readonly serverErrorLog: Logger;
}

const LAST_LOGS_MS = 2_000;

/**
 * Runs the agent until it is told to stop; the server is then ended, too.
 *
 * @throws {CredentialsError | FileError | LockedError | StoreError} one line for the operator
 */
export async function runAgent(
  options: AgentOptions,
  deps: AgentDeps,
  stop: StopSignals,
): Promise<void> {
  const { log } = deps;
  const credentials = await readCredentialsFile(options.credentialsFile);
  const secrets = new KnownSecrets((values) => deps.logging.setSecrets(values));
  secrets.add([credentials.credentials.payload.reveal()]);
  const directories = directoriesOf(options.dir);
  await prepareDirectories(directories);
  await using cleanup = new AsyncDisposableStack();
  const lock = InstanceLock.take(directories.lock);
  cleanup.defer(() => lock.release());
  const state = AgentState.open(directories.database);
  cleanup.defer(() => state.close());
  const cloud = deps.openCloud(credentials);
  cleanup.defer(() => cloud.close());
  const logs = openLogQueue(directories, deps);
  cleanup.defer(() => logs?.close(stop.atOnce.aborted ? 0 : LAST_LOGS_MS));
  log.info("machine-agent starts", { version: deps.version, dir: options.dir });
  for (const warning of credentials.warnings) log.warn(warning);

  const defaults = await readDefaultsFile(options.defaultsFile, log.child("settings"));
  const { workers, supervisor } = composeAgent({
    options,
    deps,
    state,
    binDir: directories.bin,
    cloud,
    partId: credentials.partId,
    defaults,
    secrets,
  });
  logs?.sendTo(cloud.client(RobotService), credentials.partId);
  stop.atOnce.addEventListener("abort", () => supervisor.killNow());
  await runWorkers(workers, { signal: stop.orderly, clock: deps.clock, log });
  log.info("machine-agent ends");
}

/** A queue that cannot be opened must not keep a machine from running. */
function openLogQueue(directories: Directories, deps: AgentDeps): LogQueue | undefined {
  const { clock, log, hostName: host, logging } = deps;
  const addSink = logging.addSink;
  try {
    return new LogQueue({ path: directories.logQueue, host, clock, log, addSink });
  } catch (error) {
    log.error("the agent's log lines cannot be sent to the cloud", { error });
    return undefined;
  }
}
