/** One running machine: opens its state, chooses where its configuration comes from, runs, ends. */
import { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import { parseCredentials } from "../../../shared/cloud/credentials/credentials_file.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { PackageService } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import { closeSqlite, type Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";
import { agentInfo } from "../../cloud/link/agent_info.ts";
import { type LocalFile, readLocalFile } from "../../config/source/local_file.ts";
import { RevisionStore } from "../../config/source/revision_store.ts";
import type { MachineSeat } from "../../data/machine_seat.ts";
import type { Diagnostics } from "../../diagnostics/diagnostics.ts";
import type { ServerEnvironment } from "../options/environment.ts";
import type { ModelRegistry } from "../../resources/graph/registry.ts";
import { openServerState } from "../../config/state/open_state.ts";
import { CloudSide } from "./cloud_side.ts";
import { configMode, localBindAddress, refreshInterval } from "./config_mode.ts";
import { LocalSide } from "./local_side.ts";
import { type LogSettings, MachineCore } from "./machine_core.ts";

/** Why a server ends. */
export type StopReason = "signal" | "shutdown_request" | "app_restart";

export interface MachineServerOptions {
  configPath: string;
  environment: ServerEnvironment;
  readVariable: (name: string) => string | undefined;
  registry: ModelRegistry;
  clock: Clock;
  /** The root logger, `rdk`. */
  log: Logger;
  logSettings: LogSettings;
  build: { readonly version: string; readonly commit: string };
  debug: boolean;
  noTls: boolean;
  allowInsecure: boolean;
  revealDiffs: boolean;
  /** `-untrusted-env` */
  untrusted: boolean;
  /** `-webrtc` */
  webrtc: boolean;
  /** Whether the machine is announced in its own network; false with `-disable-mdns`. */
  mdns: boolean;
  /** What looks at the running server; undefined for nothing. The caller closes it. */
  diagnostics?: Diagnostics | undefined;
  /** What of this process's variables the programs that it starts get. */
  variables: () => Record<string, string>;
  processes: ProcessRunner;
  /** The same as the registry's models have; taken here. Default: nobody needs it. */
  seat?: MachineSeat;
}

export class MachineServer {
  readonly #stopping = Promise.withResolvers<StopReason>();

  private constructor(
    private readonly options: MachineServerOptions,
    private readonly db: Database,
    readonly core: MachineCore,
    private readonly side: CloudSide | LocalSide,
  ) {}

  /**
   * Starts a machine; resolves when it serves and the ready line is written.
   *
   * @throws an error whose message is one line for the operator.
   */
  static async start(options: MachineServerOptions): Promise<MachineServer> {
    const { configPath, environment, readVariable, clock, log } = options;
    const file = await readLocalFile(configPath, readVariable);
    const cloud = configMode(file.json) === "cloud";
    const credentials = cloud
      ? parseCredentials(file.json, configPath, { allowInsecure: options.allowInsecure })
      : undefined;
    const db = await openServerState(environment.home, log);
    const revisions = new RevisionStore(db, credentials?.partId ?? "local");
    const connection = credentials && CloudConnection.open({
      appAddress: credentials.appAddress,
      credentials: credentials.credentials,
      allowInsecure: options.allowInsecure,
      log: log.child("networking"),
    });
    const dataCloud = credentials && connection && {
      client: connection.client(DataSyncService),
      partId: credentials.partId,
    };
    let started: MachineServer | undefined;
    const core = new MachineCore({
      clock,
      log,
      logSettings: options.logSettings,
      registry: options.registry,
      environment,
      readVariable,
      variables: options.variables,
      processes: options.processes,
      untrusted: options.untrusted,
      webrtc: options.webrtc,
      signalingCloud: credentials && connection && {
        connection,
        credentials,
        allowInsecure: options.allowInsecure,
      },
      mdns: options.mdns,
      diagnostics: options.diagnostics,
      db,
      packageCloud: credentials && connection && {
        client: connection.client(PackageService),
        address: credentials.appAddress,
        credentials: credentials.credentials,
        allowInsecure: options.allowInsecure,
        platform: agentInfo(options.build).platform ?? "",
      },
      dataCloud,
      seat: options.seat,
      revisions,
      credentials,
      localAddress: cloud ? localBindAddress(file.json) : undefined,
      version: options.build.version,
      debug: options.debug,
      noTls: options.noTls,
      revealDiffs: options.revealDiffs,
      onShutdown: () => started?.requestStop("shutdown_request"),
    });
    const side = credentials && connection
      ? new CloudSide({
        core,
        credentials,
        connection,
        revisions,
        db,
        environment,
        logSettings: options.logSettings,
        clock,
        log,
        build: options.build,
        refreshMs: refreshMs(file),
        onRestart: () => started?.requestStop("app_restart"),
      })
      : new LocalSide({ core, path: configPath, readVariable, clock, log });
    const server = started = new MachineServer(options, db, core, side);
    options.diagnostics?.watch({
      partId: credentials?.partId,
      cloud: dataCloud,
      graph: () => core.resources.graph(),
      modules: () => core.parts.moduleProcesses(),
    });
    try {
      await (side instanceof LocalSide ? side.start(file) : side.start());
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  /** Where the server listens. */
  get address(): { hostname: string; port: number } | undefined {
    return this.core.web.address;
  }

  /** Resolves when somebody asked the server to end. */
  get stopRequested(): Promise<StopReason> {
    return this.#stopping.promise;
  }

  requestStop(reason: StopReason): void {
    this.#stopping.resolve(reason);
  }

  /** Ends modules and processes at once, for when the time for {@link close} is over. */
  kill(): void {
    this.core.parts.kill();
  }

  /** Ends calls, closes resources, dependents first, sends the last log lines, closes the state. */
  async close(): Promise<void> {
    await this.side.stop();
    await this.core.close();
    this.options.log.info("resources are closed");
    if (this.side instanceof CloudSide) await this.side.close();
    closeSqlite(this.db);
  }
}

function refreshMs(file: LocalFile): number | undefined {
  const interval = refreshInterval(file.json);
  return interval === undefined ? undefined : parseGoDuration(interval);
}
