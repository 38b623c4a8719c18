/**
 * Everything that looks at the running server: capture, profiles, telemetry, and static assets
 * next to them on the HTTP server. Composes; each part is loaded when it is requested.
 */
import { join } from "node:path";
import type { ServiceImpl } from "@connectrpc/connect";
import type { DiagnosticsService } from "../../shared/gen/machine/server/v1/diagnostics_pb.ts";
import type { MachineConfig } from "../../shared/config/machine_config.ts";
import type { ResourceSpans } from "../../shared/gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Interceptor } from "../../shared/rpc/server/interceptor.ts";
import type { Peer } from "../../shared/rpc/server/peer.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { DataCloud } from "../data/data_cloud.ts";
import type { StaticAssets } from "../serving/assets/static_assets.ts";
import type { Capture } from "./ftdc/capture.ts";
import type { FtdcUploads } from "./ftdc/uploads.ts";
import type { ModuleProcess } from "./ftdc/statsers.ts";
import { historyService } from "./history_service.ts";
import type { GraphNode } from "../../shared/base/graph_layout/layout.ts";
import type { ProfilePages } from "./profiles/pages.ts";
import { RequestCounters } from "./request_counters.ts";
import { Telemetry } from "./telemetry/telemetry.ts";

export interface DiagnosticsOptions {
  /** `-ftdc` */
  ftdc: boolean;
  /** Upload what was captured to the machine's cloud. */
  ftdcUpload: boolean;
  /** `-output-telemetry` */
  printTelemetry: boolean;
  /** `-webprofile` */
  webProfile: boolean;
  /** What `-shareddir` names; undefined for nothing. */
  assets: StaticAssets | undefined;
  /** Folder of the server's state. */
  home: string;
  /** Version of this server. */
  version: string;
  clock: Clock;
  /** The root logger, `rdk`. */
  log: Logger;
  /** Takes printed telemetry. */
  write: (text: string) => void;
}

/** The machine as diagnostics see it. */
export interface WatchedMachine {
  /** Names the folders of capture and traces; undefined for a machine without a cloud. */
  readonly partId: string | undefined;
  /** How files get to its cloud; undefined without one. */
  readonly cloud: DataCloud | undefined;
  /** Resources with their states. */
  graph(): readonly GraphNode[];
  /** Processes of modules. */
  modules(): readonly ModuleProcess[];
}

/** Folder of a machine that has no part in a cloud. */
const LOCAL_PART = "local-config";

export class Diagnostics {
  readonly #counters = new RequestCounters();
  readonly #telemetry: Telemetry;
  /** Serves what was captured. */
  readonly history: ServiceImpl<typeof DiagnosticsService>;
  #machine: WatchedMachine | undefined;
  #capture: Promise<Capture> | undefined;
  #uploads: Promise<FtdcUploads> | undefined;
  #pages: ProfilePages | undefined;
  #webProfile: boolean;

  constructor(private readonly options: DiagnosticsOptions) {
    this.#webProfile = options.webProfile;
    this.history = historyService({
      clock: options.clock,
      folder: () =>
        options.ftdc && this.#machine ? captureFolder(options.home, this.#machine) : undefined,
    });
    this.#telemetry = new Telemetry({
      print: options.printTelemetry,
      folder: () => join(options.home, "traces", this.#machine?.partId ?? LOCAL_PART),
      version: options.version,
      resourceStates: () => this.#resourceStates(),
      clock: options.clock,
      log: options.log.child("telemetry"),
      write: options.write,
    });
  }

  /** Run these around every call, before all others. */
  get interceptors(): readonly Interceptor[] {
    return [this.#counters.interceptor, this.#telemetry.interceptor];
  }

  /** True with `-output-telemetry`: calls are traced whatever the configuration specifies. */
  get printsSpans(): boolean {
    return this.options.printTelemetry;
  }

  /** Runs around calls that modules make: they are traced, and not counted as the machine's. */
  get tracing(): Interceptor {
    return this.#telemetry.interceptor;
  }

  /**
   * Takes what a module sent by `RobotService/SendTraces`.
   *
   * @param module "" when the caller is not known.
   * @throws {ConnectError} INVALID_ARGUMENT
   */
  takeSpans(sent: readonly ResourceSpans[], module: string): void {
    this.#telemetry.take(sent, module);
  }

  /** Begins to capture. Call it once, before the first {@link follow}. */
  watch(machine: WatchedMachine): void {
    this.#machine = machine;
    const { ftdc, ftdcUpload } = this.options;
    if (!ftdc) return;
    this.#capture = this.#startCapture(machine);
    if (ftdcUpload && machine.cloud) this.#uploads = this.#startUploads(machine, machine.cloud);
  }

  /** Follows `tracing` and `enable_web_profile`. Never rejects. */
  async follow(
    config: Pick<MachineConfig, "tracing"> & { enable_web_profile?: boolean },
  ): Promise<void> {
    this.#webProfile = this.options.webProfile || (config.enable_web_profile ?? false);
    await this.#telemetry.apply(config.tracing);
  }

  /** Answers what is below `/debug` and `/static/`; undefined for other requests. */
  http(request: Request, peer: Peer): Promise<Response> | undefined {
    const { pathname } = new URL(request.url);
    const { assets } = this.options;
    if (assets && pathname.startsWith("/static/")) return assets.answer(request);
    if (this.#webProfile && /^\/debug(\/|$)/.test(pathname)) return this.#profile(request, peer);
  }

  /** Writes and sends what is left. */
  async close(): Promise<void> {
    await this.#telemetry.close();
    await (await this.#uploads)?.close();
    await (await this.#capture)?.close();
  }

  async #profile(request: Request, peer: Peer): Promise<Response> {
    const { ProfilePages } = await import("./profiles/pages.ts");
    this.#pages ??= new ProfilePages({ graph: () => this.#machine?.graph() ?? [] });
    return await this.#pages.answer(request, peer);
  }

  async #startCapture(machine: WatchedMachine): Promise<Capture> {
    const { clock, log, home } = this.options;
    const { Capture } = await import("./ftdc/capture.ts");
    const { statsersFor } = await import("./ftdc/statsers.ts");
    const capture = new Capture({
      folder: captureFolder(home, machine),
      statsers: statsersFor(Deno.build.os, {
        clock,
        modules: () => machine.modules(),
        methods: () => this.#counters.methods(),
        resourceStates: () => this.#resourceStates(),
      }),
      clock,
      log: log.child("ftdc"),
    });
    capture.start();
    return capture;
  }

  async #startUploads(machine: WatchedMachine, cloud: DataCloud): Promise<FtdcUploads> {
    const { clock, log, home } = this.options;
    const { FtdcUploads } = await import("./ftdc/uploads.ts");
    const folder = captureFolder(home, machine);
    return new FtdcUploads({ folder, cloud, clock, log: log.child("ftdc") });
  }

  #resourceStates(): Record<string, number> {
    const states: Record<string, number> = {};
    for (const { state } of this.#machine?.graph() ?? []) states[state] = (states[state] ?? 0) + 1;
    return states;
  }
}

function captureFolder(home: string, { partId = LOCAL_PART }: WatchedMachine): string {
  return join(home, "diagnostics.data", partId);
}
