/** The part of a machine that is the same with and without a cloud: resources, API, access, port. */
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import { ownLogLevels } from "../../../shared/config/log_levels.ts";
import { secretValues } from "../../../shared/config/secrets.ts";
import type { MachineCredentials } from "../../../shared/cloud/credentials/credentials_file.ts";
import { DiagnosticsService } from "../../../shared/gen/machine/server/v1/diagnostics_pb.ts";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { StreamService } from "../../../shared/gen/proto/stream/v1/stream_pb.ts";
import {
  type GetMachineStatusResponse,
  RobotService,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { LogSink } from "../../../shared/log/line.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import { logRequests } from "../../../shared/rpc/server/request_log.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";
import { AccessControl } from "../../serving/access/access_control.ts";
import { type CloudAccess, NO_CLOUD_ACCESS } from "../../serving/access/cloud_access.ts";
import { accessRules } from "../../serving/access/rules_from_config.ts";
import { servedApis } from "../../serving/apis/all.ts";
import { LearnedApis } from "../../serving/apis/learned_apis.ts";
import { createRobotService } from "../../serving/apis/robot.ts";
import { ConfigurationApplier } from "../../config/source/applier.ts";
import { MaintenanceGate } from "../../config/maintenance/maintenance.ts";
import { Mdns } from "../../serving/mdns/mdns.ts";
import { writeModuleLog } from "../../modules/manager/module_log.ts";
import { Operations } from "../../serving/operations/operations.ts";
import { FrameSystem } from "../../resources/frames/frame_system.ts";
import { ResourceManager } from "../../resources/graph/manager.ts";
import { DEFAULT_HEARTBEAT_WINDOW_MS, Sessions } from "../../serving/sessions/sessions.ts";
import { MachineState } from "../../config/status/machine_state.ts";
import { machineStatus } from "../../config/status/machine_status.ts";
import { Tunnels } from "../../serving/tunnels/tunnels.ts";
import {
  bindsToAll,
  type IssuedCertificate,
  leavesCertificate,
  listenSettings,
} from "../../serving/web/listen_settings.ts";
import { MachineAdmission } from "../../serving/web/machine_admission.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { Gateway } from "../../serving/gateway/gateway.ts";
import { createRoutes, type RestartAnswer } from "../../serving/web/routes.ts";
import { WebServer } from "../../serving/web/web_server.ts";
import { createStreamService, type Streams } from "../../serving/webrtc/stream_service.ts";
import { signalingAddress } from "../../serving/webrtc/signaling_address.ts";
import { WebRtc } from "../../serving/webrtc/webrtc.ts";
import type { MachineContext } from "./machine_context.ts";
import { machineFacts } from "./machine_facts.ts";
import { MachineParts } from "./machine_parts.ts";

/** How long calls may continue when the server ends. Milliseconds. */
const CALL_GRACE_MS = 2_000;

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
  readonly web: WebServer;
  readonly webrtc: WebRtc;
  readonly access = new AccessControl();
  readonly parts: MachineParts;
  readonly #apis: LearnedApis;
  readonly #operations: Operations;
  readonly #maintenance: MaintenanceGate;
  readonly #sessions: Sessions;
  readonly #tunnels: Tunnels;
  readonly #admission: MachineAdmission;
  readonly #mdns: Mdns;
  readonly #frames: FrameSystem;
  readonly #streams: Streams;
  #cloudAccess: CloudAccess = NO_CLOUD_ACCESS;
  #identity: MachineConfig = emptyMachineConfig();
  #certificate: IssuedCertificate | undefined;
  #announced = false;
  #toldOfPermissions = false;

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
    this.#admission = new MachineAdmission({
      signInRequired: () => this.access.rules.required,
      port: () => this.web.address?.port,
      log: log.child("networking"),
    });
    this.#mdns = new Mdns({ enabled: switches.mdns, clock, log: log.child("networking") });
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
        setLogging: (config) => {
          this.#setLogging(config);
          void diagnostics?.follow(config);
        },
        setIdentity: (config) => this.setIdentity(config),
        setNetwork: (config) => this.listen(config),
        setMachine: (config) => {
          this.#frames.setComponents(config.components, this.parts.framedRemotes(config));
          return this.parts.apply(config);
        },
        maintenanceAllows: (config) => this.#maintenance.allowsChanges(config.maintenance),
        keep: (config) => context.revisions.add(config, clock.now()),
      },
    });
    const mount = (router: RpcRouter) => this.#mount(router, robot);
    const interceptors = this.#interceptors();
    this.web = this.#createWeb(mount, interceptors);
    this.webrtc = new WebRtc({
      enabled: switches.webrtc,
      cloud: cloud && { ...cloud, allowInsecure: switches.allowInsecure },
      port: () => this.web.address?.port,
      mount,
      interceptors,
      access: this.access,
      clock,
      log: log.child("networking"),
    });
  }

  /** Who the machine is, who may call it, how long sessions live, and where tunnels may go. */
  setIdentity(config: MachineConfig): void {
    const credentials = this.context.cloud?.credentials;
    this.#identity = config;
    const rules = accessRules({ config, credentials, cloudAccess: this.#cloudAccess });
    this.access.setRules(rules);
    const holdNobody = rules.permissions.length > 0 && !rules.required;
    if (holdNobody && !this.#toldOfPermissions) {
      this.context.log.warn(
        "auth.user_permissions hold nobody, because nobody signs in here; set auth.handlers",
      );
    }
    this.#toldOfPermissions = holdNobody;
    this.state.setCloud({
      primaryOrgId: config.cloud?.primary_org_id ?? "",
      locationId: config.cloud?.location_id ?? "",
      machineId: config.cloud?.machine_id ?? "",
      machinePartId: credentials?.partId ?? config.cloud?.id ?? "",
    });
    this.#admission.follow(config);
    this.#tunnels.setEndpoints(config.network?.traffic_tunnel_endpoints);
    this.webrtc.follow(config);
    this.#sessions.endUnless((owner) => this.access.stands(owner));
    void this.webrtc.accessChanged();
    const window = config.network?.sessions?.heartbeat_window;
    this.#sessions.heartbeatWindowMs = window
      ? parseGoDuration(window)
      : DEFAULT_HEARTBEAT_WINDOW_MS;
    this.#announceInNetwork();
  }

  /** Who may open this machine, as the cloud reports it. */
  setCloudAccess(access: CloudAccess): void {
    this.#cloudAccess = access;
    this.setIdentity(this.#identity);
  }

  /** A certificate that the cloud issued; the port is served with it from the next time on. */
  set certificate(issued: IssuedCertificate | undefined) {
    this.#certificate = issued;
  }

  /** Listens where the configuration specifies that runs, with a certificate that is new. */
  async listenAgain(): Promise<void> {
    await this.listen(this.#identity);
  }

  /**
   * Listens where the configuration specifies.
   *
   * @throws {PortInUseError} or another error; the server then listens where it did.
   */
  async listen(config: Pick<MachineConfig, "network" | "cloud">): Promise<void> {
    const { log, switches: { noTls } } = this.context;
    const { localAddress } = this.options;
    const issued = this.#certificate;
    const settings = await listenSettings({ config, localAddress, noTls, issued });
    const changed = await this.web.listen(settings);
    if (!changed) return;
    if (leavesCertificate(config, settings)) {
      log.warn("TLS is switched off by -no-tls or network.no_tls, though there is a certificate");
    }
    if (bindsToAll(settings)) {
      if (!this.access.rules.required) {
        log.warn("binding to all interfaces without authentication");
      } else if (!settings.tls) {
        log.warn("binding to all interfaces without TLS: tokens can be read in transit");
      }
    }
    if (this.#announced) this.announce();
  }

  /** Reports to operator and network where the machine is, now and whenever that changes. */
  announce(): void {
    this.#announced = true;
    this.web.announce();
    this.#announceInNetwork();
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
    await Promise.all([
      this.#mdns.close(),
      this.web.close(CALL_GRACE_MS),
      this.webrtc.close(CALL_GRACE_MS),
    ]);
    await this.#streams.close();
    this.#sessions.close();
    await this.parts.close();
  }

  #announceInNetwork(): void {
    const { address } = this.web;
    if (!this.#announced || !address) return;
    const { cloud, network } = this.#identity;
    const given = [cloud?.fqdn, cloud?.local_fqdn, network?.fqdn];
    this.#mdns.announce({ given, ...address, webrtc: this.context.switches.webrtc });
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
      writeLog: (entries, moduleName) => this.#writeLog(entries, moduleName),
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

  /** Lines of modules go below their loggers, those of other callers below the server's own. */
  #writeLog(entries: readonly LogEntry[], moduleName: string | undefined): void {
    const { modules } = this.parts;
    if (modules && moduleName !== undefined) return modules.writeLog(entries, moduleName);
    const { log, logSettings, clock } = this.context;
    const write: LogSink = (line) => logSettings.forward(line);
    writeModuleLog(entries, moduleName ?? "", { root: log.name, write, clock });
  }

  #interceptors(): readonly Interceptor[] {
    const { log, diagnostics } = this.context;
    return [
      ...diagnostics?.interceptors ?? [],
      logRequests(log.child("networking")),
      this.#admission.interceptor,
      this.access.interceptor,
      this.#sessions.interceptor,
      this.#operations.interceptor,
    ];
  }

  /** What callers find at the port and over WebRTC. */
  #mount(router: RpcRouter, robot: ReturnType<typeof createRobotService>): void {
    router.service(AuthService, this.access.authService).service(RobotService, robot)
      .service(SignalingService, this.webrtc.signaling)
      .service(StreamService, this.#streams.service);
    this.#apis.mount(router);
    const { diagnostics, switches } = this.context;
    if (diagnostics) router.service(DiagnosticsService, diagnostics.history);
    if (!switches.debug) return;
    void import("../../diagnostics/echo_service.ts").then(({ serveEcho }) => serveEcho(router));
  }

  #createWeb(
    mount: (router: RpcRouter) => void,
    interceptors: readonly Interceptor[],
  ): WebServer {
    const { log, diagnostics } = this.context;
    const gateway = this.#gateway(mount, interceptors);
    return new WebServer({
      log,
      interceptors,
      http: createRoutes({
        restartAllowed: () => this.#restartAllowed(),
        cloudReached: () => this.options.link?.online,
        others: (request, peer) => gateway(request, peer) ?? diagnostics?.http(request, peer),
      }),
      mount,
      refuse: (...asked) => this.#admission.refusal(...asked),
    });
  }

  /** Loaded with the first request for it. */
  #gateway(mount: (router: RpcRouter) => void, interceptors: readonly Interceptor[]) {
    const { clock, build } = this.context;
    let loading: Promise<Gateway> | undefined;
    const load = async () => {
      const { Gateway } = await import("../../serving/gateway/gateway.ts");
      return new Gateway({
        ...{ mount, interceptors, version: build.version, nowMs: () => clock.monotonicMs() },
        allowsOrigin: (origin) => this.#admission.allowsOrigin(origin),
      });
    };
    return (request: Request, peer: Peer): Promise<Response> | undefined => {
      const { pathname } = new URL(request.url);
      if (pathname !== "/api" && !pathname.startsWith("/api/")) return undefined;
      loading ??= load();
      return loading.then((gateway) => gateway.answer(request, peer));
    };
  }

  async #restartAllowed(): Promise<RestartAnswer> {
    if (this.applier.busy) {
      return { allowed: false, reason: "it applies a configuration", isReconfiguring: true };
    }
    return await this.#maintenance.allowsRestart(this.applier.config?.maintenance);
  }

  #setLogging(config: MachineConfig): void {
    const { logSettings, log, switches, cloud } = this.context;
    const isDebug = switches.debug || config.debug;
    logSettings.setDebugMode(isDebug);
    logSettings.setDeduplication(!config.disable_log_deduplication && !isDebug);
    for (const { message } of logSettings.setPatterns(config.log)) log.warn(message);
    logSettings.setResourceLevels(ownLogLevels(config));
    logSettings.setSecrets([...secretValues(config), ...credentialSecrets(cloud?.credentials)]);
  }
}

function credentialSecrets(credentials: MachineCredentials | undefined): string[] {
  return credentials ? [credentials.credentials.payload.reveal()] : [];
}
