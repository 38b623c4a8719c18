import type { Client } from "@connectrpc/connect";
import type { DescService } from "@bufbuild/protobuf";
import type { ProcessMemory } from "../../shared/base/memory/idle_memory.ts";
import type { ProcessRunner } from "../../shared/base/process/child_process.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { MachineCredentials } from "../../shared/cloud/credentials/credentials_file.ts";
import type { HostInfo } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import type { Logging } from "../../shared/log/configure.ts";
import type { RunProgram } from "../../shared/base/process/run_program.ts";
import type { LogQueue } from "../cloud/logs/log_queue.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { WorkerHealth } from "../../shared/workers/worker_health.ts";
import type { KnownSecrets } from "../cloud/logs/known_secrets.ts";
import type { AgentOptions } from "../options/options.ts";
import type { AskRestartStatus } from "../server/supervision/restart_status.ts";
import type { SelfProgram } from "../service/self_program.ts";
import type { ServiceManager } from "../service/service_manager.ts";
import type { DefaultsFile } from "../settings/settings_source.ts";
import type { AgentState } from "../state/agent_state.ts";
import type { Directories } from "../state/directories.ts";
import type { AgentShutdown } from "./agent_shutdown.ts";
import type { NetworkSystem } from "./network_system.ts";

/** The connection to the cloud. */
export interface Cloud {
  client<S extends DescService>(service: S): Client<S>;
  close(): void;
}

/** A cloud and how to sign in there. */
export interface CloudAddress extends Pick<MachineCredentials, "appAddress"> {
  readonly credentials: MachineCredentials["credentials"] | undefined;
}

/** Everything from outside. */
export interface AgentDeps {
  /** Of this program. */
  readonly version: string;
  readonly host: HostInfo;
  readonly hostName: string;
  readonly env: Readonly<Record<string, string>>;
  readonly processes: ProcessRunner;
  /** Without credentials: for calls that need none. */
  readonly openCloud: (to: CloudAddress) => Cloud;
  readonly askRestartStatus: AskRestartStatus;
  /** Passes on a line of the server's standard output. */
  readonly writeLine: (line: string) => void;
  readonly memory: ProcessMemory;
  readonly clock: Clock;
  readonly logging: Pick<Logging, "addSink" | "setDebugMode" | "setSecrets">;
  readonly log: Logger;
  /** Gets the server's standard error. */
  readonly serverErrorLog: Logger;
  /** Who started this process and wants to know how it goes. */
  readonly service: ServiceManager;
  /** The program that this process runs. */
  readonly self: SelfProgram;
  /** The networks of this host, or why they cannot be tended. */
  readonly networks: NetworkSystem | string;
  /** This process, and what distinguishes it from another one of the same number. */
  readonly process: { readonly pid: number; readonly mark: string };
  /** Runs a program of the system to its end. */
  readonly run: RunProgram;
  /** The host. */
  readonly system: {
    /** As Deno names it. */
    readonly os: string;
    /** systemd is process 1. */
    readonly hasSystemd: boolean;
    /** The unit that this process runs under; undefined when there is none. */
    readonly ownUnit: string | undefined;
    /** Another one after each start of the host: 32 hexadecimal digits. */
    readonly boot: string;
  };
}

/** What the agent is put together from: its options, all from outside, and what is open. */
export interface AgentParts {
  readonly options: AgentOptions;
  readonly deps: AgentDeps;
  readonly state: AgentState;
  readonly directories: Directories;
  readonly credentials: MachineCredentials;
  readonly cloud: Cloud;
  readonly partId: string;
  readonly defaults: DefaultsFile;
  readonly secrets: KnownSecrets;
  readonly workerHealth: WorkerHealth;
  /** Undefined: it could not be opened. */
  readonly logQueue: LogQueue | undefined;
  readonly shutdown: AgentShutdown;
}
