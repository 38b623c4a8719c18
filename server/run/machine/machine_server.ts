/** One running machine: opens its state, chooses where its configuration comes from, runs, ends. */
import { buildInfo } from "../../../shared/base/build_info/build_info.ts";
import type { CloudCredentials } from "../../../shared/cloud/auth/cloud_credentials.ts";
import { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import { parseCredentials } from "../../../shared/cloud/credentials/credentials_file.ts";
import { closeSqlite } from "../../../shared/base/store/sqlite.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";
import { type LocalFile, readLocalFile } from "../../config/source/local_file.ts";
import { RevisionStore } from "../../config/source/revision_store.ts";
import { openServerState } from "../../config/state/open_state.ts";
import { CloudSide } from "./cloud_side.ts";
import { configMode, localBindAddress, refreshInterval } from "./config_mode.ts";
import { LocalSide } from "./local_side.ts";
import type { MachineCloud, MachineContext, MachineHost } from "./machine_context.ts";
import { MachineCore } from "./machine_core.ts";

/** Why a server ends. */
export type StopReason = "signal" | "shutdown_request" | "app_restart";

export interface MachineServerOptions extends MachineHost {
  readonly configPath: string;
}

export class MachineServer {
  readonly #stopping = Promise.withResolvers<StopReason>();

  private constructor(
    private readonly context: MachineContext,
    readonly core: MachineCore,
    private readonly side: CloudSide | LocalSide,
  ) {}

  /**
   * Starts a machine; resolves when it serves and the ready line is written.
   *
   * @throws an error whose message is one line for the operator.
   */
  static async start({ configPath, ...host }: MachineServerOptions): Promise<MachineServer> {
    const file = await readLocalFile(configPath, host.readVariable);
    const isCloud = configMode(file.json) === "cloud";
    const cloud = isCloud ? openCloud(file, configPath, host) : undefined;
    const db = await openServerState(host.environment.home, host.log);
    const revisions = new RevisionStore(db, cloud?.credentials.partId ?? "local");
    const context: MachineContext = { ...host, db, revisions, cloud };
    let started: MachineServer | undefined;
    const stop = (reason: StopReason) => started?.requestStop(reason);
    const side = cloud
      ? new CloudSide(context, cloud, {
        refreshMs: refreshMs(file),
        onRestart: () => stop("app_restart"),
      })
      : new LocalSide(context, configPath);
    const core = new MachineCore(context, {
      link: side instanceof CloudSide ? side : undefined,
      localAddress: isCloud ? localBindAddress(file.json) : undefined,
      onShutdown: () => stop("shutdown_request"),
    });
    const server = started = new MachineServer(context, core, side);
    host.diagnostics?.watch({
      partId: cloud?.credentials.partId,
      cloud: cloud?.data,
      graph: () => core.resources.graph(),
      modules: () => core.parts.moduleProcesses(),
    });
    try {
      await (side instanceof LocalSide ? side.start(core, file) : side.start(core));
    } catch (error) {
      await server.close();
      throw error;
    }
    return server;
  }

  /** Where the server listens. */
  get address(): { hostname: string; port: number } | undefined {
    return this.core.port.address;
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
    this.context.log.info("resources are closed");
    if (this.side instanceof CloudSide) await this.side.close();
    closeSqlite(this.context.db);
  }
}

function openCloud(
  file: LocalFile,
  path: string,
  { switches: { allowInsecure }, log }: MachineHost,
): MachineCloud {
  const machine = parseCredentials(file.json, path, { allowInsecure });
  const connect = (credentials: CloudCredentials) =>
    CloudConnection.open({
      appAddress: machine.appAddress,
      credentials,
      allowInsecure,
      userAgent: `machine-server/${buildInfo.version}`,
      log: log.child("networking"),
    });
  const connection = connect(machine.credentials);
  const data = { client: connection.client.bind(connection), partId: machine.partId };
  return { credentials: machine, connection, data, connect };
}

function refreshMs(file: LocalFile): number | undefined {
  const interval = refreshInterval(file.json);
  return interval === undefined ? undefined : parseGoDuration(interval);
}
