/** The part of a machine that is the same with and without a cloud: resources, API, access, port. */
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import { DiagnosticsService } from "../../../shared/gen/machine/server/v1/diagnostics_pb.ts";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { StreamService } from "../../../shared/gen/proto/stream/v1/stream_pb.ts";
import {
  type GetMachineStatusResponse,
  RobotService,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";
import type { CloudAccess } from "../../serving/access/cloud_access.ts";
import { servedApis } from "../../serving/apis/all.ts";
import { LearnedApis } from "../../serving/apis/learned_apis.ts";
import { createRobotService } from "../../serving/apis/robot.ts";
import { ConfigurationApplier } from "../../config/source/applier.ts";
import { MaintenanceGate } from "../../config/maintenance/maintenance.ts";
import { Operations } from "../../serving/operations/operations.ts";
import { FrameSystem } from "../../resources/frames/frame_system.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { DEFAULT_HEARTBEAT_WINDOW_MS, Sessions } from "../../serving/sessions/sessions.ts";
import { MachineState } from "../../config/status/machine_state.ts";
import { machineStatus } from "../../config/status/machine_status.ts";
import { Tunnels } from "../../serving/tunnels/tunnels.ts";
import type { RestartAnswer } from "../../serving/web/routes.ts";
import { createStreamService, type Streams } from "../../serving/webrtc/stream_service.ts";
import { signalingAddress } from "../../serving/webrtc/signaling_address.ts";
import type { MachineContext } from "./machine_context.ts";
import { machineFacts } from "./machine_facts.ts";
import { followLogging, writeCallerLog } from "./machine_logging.ts";
import { MachineParts } from "./machine_parts.ts";
import { MachinePort } from "./machine_port.ts";

/** The cloud's side of a machine, as far as the core knows it. */
export interface CloudLink {
  /** Whether the cloud answered last time. */
  readonly online: boolean;
  /** Something that status shows has changed. */
  statusChanged(): void;
}

export interface MachineCoreOptions {
  /** Undefined without a cloud. */
  readonly link: CloudLink | undefined;
  /** `network.bind_address` of a file that only leads to a cloud. */
  readonly localAddress: string | undefined;
  /** RobotService/Shutdown was called. */
  readonly onShutdown: () => void;
}

export class MachineCore {
  readonly state: MachineState;
  readonly resources: ResourceManager;
  readonly applier: ConfigurationApplier;
  readonly port: MachinePort;
  readonly parts: MachineParts;
  readonly #apis: LearnedApis;
  readonly #operations: Operations;
  readonly #maintenance: MaintenanceGate;
  readonly #sessions: Sessions;
  readonly #tunnels: Tunnels;
  readonly #frames: FrameSystem;
  readonly #streams: Streams;
  #identity: MachineConfig = emptyMachineConfig();

  constructor(
    private readonly context: MachineContext,
    private readonly options: MachineCoreOptions,
  ) {
    const { clock, log, environment, switches, cloud, diagnostics } = context;
    const changed = () => options.link?.statusChanged();
    this.state = new MachineState(clock, changed);
    this.#sessions = new Sessions(clock, {
      log: log.child("sessions"),
      stop: (resource, signal) => this.resources.index.peek(resource)?.instance?.stop?.({ signal }),
    });
    this.#tunnels = new Tunnels({ clock });
    this.resources = new ResourceManager({
      registry: context.registry,
      clock,
      log: log.child("resource_manager"),
      limits: {
        ...(environment.resourceConfigurationTimeoutMs !== undefined &&
          { buildTimeoutMs: environment.resourceConfigurationTimeoutMs }),
        ...(environment.resourceRequestsLimit !== undefined &&
          { concurrentCalls: environment.resourceRequestsLimit }),
      },
      onChange: changed,
    });
    const { index } = this.resources;
    this.#frames = new FrameSystem({ resources: index, clock, log: log.child("frame_system") });
    this.#streams = createStreamService({
      resources: this.resources,
      clock,
      log: log.child("video"),
    });
    this.#maintenance = new MaintenanceGate({ resources: this.resources, clock, log });
    this.#apis = new LearnedApis(servedApis, this.resources.index, this.#sessions);
    this.#operations = new Operations(clock);
    context.seat.take({
      resources: this.resources.index,
      frames: this.#frames,
      serviceOf: (api) => this.#apis.serviceOf(api),
      db: context.db,
      cloud: cloud?.data,
      connectCloud: cloud?.connect,
    });
    const robot = this.#createRobotService();
    this.parts = new MachineParts(context, {
      resources: this.resources,
      apis: this.#apis,
      mountForModules: (router) => {
        this.#apis.mount(router.service(RobotService, robot));
        return () => this.#apis.unmount(router);
      },
      interceptors: [
        ...(diagnostics ? [diagnostics.tracing] : []),
        this.#operations.interceptor,
      ],
      facts: () =>
        machineFacts(this.#identity, {
          partId: cloud?.credentials.partId,
          printsSpans: diagnostics?.printsSpans ?? false,
        }),
      cloudSignaling: () =>
        cloud && {
          appAddress: signalingAddress(this.#identity.cloud ?? {}, cloud.credentials.appAddress),
          credentials: cloud.credentials.credentials,
        },
      onChange: changed,
    });
    this.applier = new ConfigurationApplier({
      state: this.state,
      clock,
      log: log.child("config"),
      revealDiffs: switches.revealDiffs,
      effects: {
        setLogging: (config) => followLogging(context, config),
        setIdentity: (config) => this.setIdentity(config),
        setNetwork: (config) => this.port.listen(config),
        setMachine: (config) => {
          this.#frames.setComponents(config.components, this.parts.framedRemotes(config));
          return this.parts.apply(config);
        },
        maintenanceAllows: (config) => this.#maintenance.allowsChanges(config.maintenance),
        keep: (config) => context.revisions.add(config, clock.now()),
      },
    });
    this.port = new MachinePort(context, {
      localAddress: options.localAddress,
      mount: (router) => this.#mount(router, robot),
      apis: () => this.#apis.list(),
      interceptors: [this.#sessions.interceptor, this.#operations.interceptor],
      restartAllowed: () => this.#restartAllowed(),
      cloudReached: () => options.link?.online,
    });
  }

  /** Who the machine is, who may call it, how long sessions live, and where tunnels may go. */
  setIdentity(config: MachineConfig): void {
    const credentials = this.context.cloud?.credentials;
    this.#identity = config;
    this.state.setCloud({
      primaryOrgId: config.cloud?.primary_org_id ?? "",
      locationId: config.cloud?.location_id ?? "",
      machineId: config.cloud?.machine_id ?? "",
      machinePartId: credentials?.partId ?? config.cloud?.id ?? "",
    });
    this.port.follow(config);
    this.#tunnels.setEndpoints(config.network?.traffic_tunnel_endpoints);
    this.#sessions.endUnless((owner) => this.port.access.stands(owner));
    const window = config.network?.sessions?.heartbeat_window;
    this.#sessions.heartbeatWindowMs = window
      ? parseGoDuration(window)
      : DEFAULT_HEARTBEAT_WINDOW_MS;
  }

  /** Who may open this machine, as the cloud reports it. */
  setCloudAccess(access: CloudAccess): void {
    this.port.cloudAccess = access;
    this.setIdentity(this.#identity);
  }

  /** What status reports of the machine. */
  status(): GetMachineStatusResponse {
    return machineStatus(this.state, {
      resources: this.resources.snapshot(),
      remotes: this.parts.remoteSnapshot(),
      modules: this.parts.moduleSnapshot(),
      packages: this.parts.packageSnapshot(),
      jobs: this.parts.jobSnapshot(),
    });
  }

  /** Ends calls, then everything that runs. */
  async close(): Promise<void> {
    this.applier.close();
    await this.port.close();
    await this.#streams.close();
    this.#sessions.close();
    await this.parts.close();
  }

  #createRobotService() {
    return createRobotService({
      resources: this.resources,
      apis: () => this.#apis.list(),
      modules: () => {
        const { modules } = this.parts;
        return modules && {
          models: () => modules.models(),
          restart: (which) => this.parts.restartModule(which),
        };
      },
      writeLog: (...asked) => writeCallerLog(this.context, this.parts.modules, ...asked),
      status: () => this.status(),
      state: this.state,
      operations: this.#operations,
      sessions: this.#sessions,
      tunnels: this.#tunnels,
      frames: this.#frames,
      machines: () => this.parts.machines(),
      version: this.context.build.version,
      uploadFromPath: async (...asked) => {
        const { pathUploads } = await import("../../data/asked_uploads.ts");
        const { cloud, environment: { home }, switches: { untrusted }, log } = this.context;
        return await pathUploads({ cloud: cloud?.data, home, untrusted, log })(...asked);
      },
      takeSpans: (spans, module) => this.context.diagnostics?.takeSpans(spans, module),
      shutdown: this.options.onShutdown,
    });
  }

  /** What callers find at the port and over WebRTC. */
  #mount(router: RpcRouter, robot: ReturnType<typeof createRobotService>): void {
    router.service(AuthService, this.port.access.authService).service(RobotService, robot)
      .service(SignalingService, this.port.webrtc.signaling)
      .service(StreamService, this.#streams.service);
    this.#apis.mount(router);
    const { diagnostics, switches } = this.context;
    if (diagnostics) router.service(DiagnosticsService, diagnostics.history);
    if (!switches.debug) return;
    void import("../../diagnostics/echo_service.ts").then(({ serveEcho }) => serveEcho(router));
  }

  async #restartAllowed(): Promise<RestartAnswer> {
    if (this.applier.busy) {
      return { allowed: false, reason: "it applies a configuration", isReconfiguring: true };
    }
    return await this.#maintenance.allowsRestart(this.applier.config?.maintenance);
  }
}
