/**
 * Packages, modules, resources, processes and jobs of one machine, kept in step with its
 * configuration. Most machines have only resources: the other parts are loaded when a
 * configuration first has one of theirs.
 */
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { FindPackage, PlaceholderSources } from "../../config/source/placeholders.ts";
import {
  type PackageManifest,
  resourceSpecs,
  wantedModules,
  wantedPackages,
} from "../../config/source/wanted.ts";
import type { LearnedApis } from "../../serving/apis/learned_apis.ts";
import type { JobManager, JobSnapshot } from "../../modules/jobs/job_manager.ts";
import type { MachineFacts } from "../../modules/manager/module_environment.ts";
import type { ModuleManager } from "../../modules/manager/module_manager.ts";
import type { ModuleSnapshot } from "../../modules/manager/module_supervisor.ts";
import type { WantedModule } from "../../modules/manager/wanted_module.ts";
import type {
  PackageManager,
  PackageManagerOptions,
} from "../../modules/packages/package_manager.ts";
import type { PackageSnapshot, PackageType } from "../../modules/packages/package_types.ts";
import type { ProcessManager } from "../../modules/processes/process_manager.ts";
import { PackageService } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { agentInfo } from "../../cloud/link/agent_info.ts";
import { fullName } from "../../resources/graph/name.ts";
import type { ResourceManager } from "../../resources/graph/manager.ts";
import type { RemoteFrames } from "../../resources/frames/frame_system.ts";
import { remoteWorld } from "../../resources/frames/frame_tree.ts";
import type { CloudSignaling } from "../../remotes/dial.ts";
import type { RemoteManager } from "../../remotes/remote_manager.ts";
import type { RemoteSnapshot } from "../../config/status/machine_status.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";
import type { MachineContext } from "./machine_context.ts";

export interface MachinePartsOptions {
  readonly resources: ResourceManager;
  readonly apis: LearnedApis;
  /** Adds what modules may call of the server; the returned function ends that. */
  readonly mountForModules: (router: RpcRouter) => () => void;
  /** Run around what modules and jobs call. */
  readonly interceptors: readonly Interceptor[];
  readonly facts: () => MachineFacts;
  /** Where the machine's cloud signals, for remotes; undefined without a cloud. */
  readonly cloudSignaling: () => CloudSignaling | undefined;
  /** Called after each change of what status shows. */
  readonly onChange: () => void;
}

export class MachineParts {
  #packages: PackageManager | undefined;
  #modules: ModuleManager | undefined;
  #jobs: JobManager | undefined;
  #processes: ProcessManager | undefined;
  #remotes: RemoteManager | undefined;
  /** Of this start of the server. */
  readonly #id = crypto.randomUUID().slice(0, 13);
  #specs: readonly ResourceSpec[] = [];
  #remoteSpecs: readonly ResourceSpec[] = [];
  #config: MachineConfig | undefined;
  #loading: Promise<void> = Promise.resolve();
  #packagePlaces = "";
  /** Folders of packages that modules run from. */
  #roots: string[] = [];
  readonly #manifests = new Map<string, PackageManifest | undefined>();
  #isClosed = false;

  constructor(
    private readonly context: MachineContext,
    private readonly options: MachinePartsOptions,
  ) {}

  /** Undefined while the configuration has had no module. */
  get modules(): ModuleManager | undefined {
    return this.#modules;
  }

  /**
   * Ends a module and starts it again, from the newest content of its archive.
   *
   * @throws {ConnectError} as {@link ModuleManager.restart}
   */
  async restartModule(which: { id?: string; name?: string }): Promise<void> {
    await this.#modules?.restart(which, async () => {
      const config = this.#config;
      if (!config || !this.#packages) return;
      await this.#packages.apply(wantedPackages(config));
      this.#manifests.clear();
      if (this.#config === config) await this.#modules?.apply(this.#wantedModules(config));
    });
  }

  packageSnapshot(): PackageSnapshot[] {
    return this.#packages?.snapshot() ?? [];
  }

  moduleSnapshot(): ModuleSnapshot[] {
    return this.#modules?.snapshot() ?? [];
  }

  /** Process ids of the modules that run, for measurements. */
  moduleProcesses(): { name: string; pid: number }[] {
    return this.#modules?.processes().map(({ module, pid }) => ({ name: module, pid })) ?? [];
  }

  /** The remotes of a configuration that stand in a frame. */
  framedRemotes({ remotes }: MachineConfig): RemoteFrames[] {
    return remotes.flatMap(({ name, frame }) =>
      frame
        ? [{
          world: remoteWorld(name),
          frame,
          ask: async (signal) => await this.#remotes?.frames(name, signal) ?? [],
        }]
        : []
    );
  }

  remoteSnapshot(): RemoteSnapshot[] {
    return this.#remotes?.snapshot() ?? [];
  }

  /** Which machine this is, and which stand behind it. */
  machines(): string {
    return this.#remotes?.machines() ?? this.#id;
  }

  jobSnapshot(): JobSnapshot[] {
    return this.#jobs?.snapshot() ?? [];
  }

  /**
   * Moves everything to what the configuration specifies. Resolves when each resource has been
   * tried once; what fails is in the status, never thrown. Of two calls that overlap the later
   * counts.
   */
  async apply(config: MachineConfig): Promise<void> {
    this.#config = config;
    if (this.#lacks(config)) {
      await (this.#loading = this.#loading.then(() => this.#load(config)));
      if (this.#config !== config) return;
    }
    if (this.#isClosed) return;
    this.#manifests.clear();
    void this.#packages?.apply(wantedPackages(config));
    this.#packagePlaces = this.#places();
    void this.#processes?.apply(config.processes);
    this.#remotes?.apply(config.remotes, config.revision);
    await this.#follow(config);
    // Later, so that the first run finds its resource.
    if (this.#config === config) this.#jobs?.apply(config.jobs);
  }

  /** Ends jobs, resources with their modules, processes and packages, in this order. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#loading;
    await this.#jobs?.close();
    await this.options.resources.close();
    await Promise.all([
      ...[this.#modules?.close(), this.#processes?.close(), this.#packages?.close()],
      this.#remotes?.close(),
    ]);
  }

  /** Ends modules and processes at once, for when the time for an orderly end is over. */
  kill(): void {
    this.#modules?.kill();
    this.#processes?.kill();
  }

  /** Modules and resources, by what packages there are. */
  #follow(config: MachineConfig): Promise<void> {
    const { log, seat } = this.context;
    let modulesSettled: Promise<void> | undefined;
    if (this.#modules) {
      const wanted = this.#wantedModules(config);
      this.#roots = wanted.map(({ root }) => root).filter((root) => root !== "");
      modulesSettled = this.#modules.apply(wanted);
    }
    const specs = resourceSpecs(config, this.#sources, (text) => log.warn(text));
    this.#specs = specs;
    seat.setSpecs([...specs, ...this.#remoteSpecs.filter(({ extra }) => extra)]);
    const settled = this.options.resources.apply(specs, config.revision);
    if (this.#packages) {
      void Promise.all([modulesSettled, settled]).then(() => this.#cleanUpPackages());
    }
    return settled;
  }

  #wantedModules(config: MachineConfig): WantedModule[] {
    const sources = { ...this.#sources, manifest: (folder: string) => this.#manifest(folder) };
    return wantedModules(config, sources, (text) => this.context.log.warn(text));
  }

  get #sources(): PlaceholderSources {
    return {
      read: this.context.readVariable,
      findPackage: (type, name) => this.#findPackage(type, name),
    };
  }

  #findPackage: FindPackage = (type, name) => {
    const found = this.#packages?.folder(type as PackageType, name);
    if (found) return found;
    const isWanted = this.#config && wantedPackages(this.#config)
      .some((wanted) => wanted.type === type && wanted.name === name);
    return isWanted ? { pending: "it is being looked for" } : undefined;
  };

  #manifest(folder: string): PackageManifest | undefined {
    if (!this.#manifests.has(folder)) this.#manifests.set(folder, readManifest(folder));
    return this.#manifests.get(folder);
  }

  /** What modules and resources see of the packages, in a form that can be compared. */
  #places(): string {
    return JSON.stringify(
      this.packageSnapshot().map(({ type, name, version }) => [
        type,
        name,
        version,
        this.#packages?.folder(type, name),
      ]),
    );
  }

  #packagesChanged(): void {
    const places = this.#places();
    if (places !== this.#packagePlaces && this.#config && !this.#isClosed) {
      this.#packagePlaces = places;
      this.#manifests.clear();
      void this.#follow(this.#config);
    }
    this.options.onChange();
  }

  /** Older versions go when the modules that used them have changed over. */
  async #cleanUpPackages(): Promise<void> {
    try {
      await this.#packages?.cleanUp([...this.#roots, ...this.#modules?.roots() ?? []]);
    } catch (error) {
      this.context.log.warn(`packages cannot be cleaned up: ${toError(error).message}`);
    }
  }

  #lacks(config: MachineConfig): boolean {
    return (!this.#packages && wantedPackages(config).length > 0) ||
      (!this.#modules && config.modules.length > 0) ||
      (!this.#jobs && config.jobs.length > 0) ||
      (!this.#processes && config.processes.length > 0) ||
      (!this.#remotes && config.remotes.length > 0);
  }

  async #load(config: MachineConfig): Promise<void> {
    if (this.#isClosed) return;
    if (wantedPackages(config).length > 0) this.#packages ??= await this.#createPackages();
    if (config.modules.length > 0) this.#modules ??= await this.#createModules();
    if (config.jobs.length > 0) this.#jobs ??= await this.#createJobs();
    if (config.processes.length > 0) this.#processes ??= await this.#createProcesses();
    if (config.remotes.length > 0) this.#remotes ??= await this.#createRemotes();
  }

  async #createPackages(): Promise<PackageManager> {
    const { PackageManager } = await import("../../modules/packages/package_manager.ts");
    const { environment, db, clock, log } = this.context;
    return new PackageManager({
      home: environment.home,
      db,
      cloud: this.#packageCloud(),
      clock,
      log: log.child("package_manager"),
      onChange: () => this.#packagesChanged(),
    });
  }

  /** How packages are had from the cloud; undefined without one. */
  #packageCloud(): PackageManagerOptions["cloud"] {
    const { cloud, build, switches } = this.context;
    return cloud && {
      client: cloud.connection.client(PackageService),
      address: cloud.credentials.appAddress,
      credentials: cloud.credentials.credentials,
      allowInsecure: switches.allowInsecure,
      platform: agentInfo(build).platform ?? "",
    };
  }

  async #createModules(): Promise<ModuleManager> {
    const { ModuleManager } = await import("../../modules/manager/module_manager.ts");
    const { ParentServer } = await import("../../modules/manager/parent_server.ts");
    const { context, options } = this;
    const { environment, log } = context;
    return new ModuleManager({
      registry: context.registry,
      resourcesChanged: () => options.resources.refresh(),
      learned: options.apis,
      parent: new ParentServer({
        mount: options.mountForModules,
        interceptors: options.interceptors,
        log: log.child("modmanager"),
        folderFile: join(environment.home, "module-sockets"),
      }),
      processes: context.processes,
      clock: context.clock,
      log: log.child("modmanager"),
      writeLog: (line) => context.logSettings.forward(line),
      facts: options.facts,
      home: environment.home,
      readVariables: context.variables,
      startupTimeoutMs: environment.moduleStartupTimeoutMs,
      tcpSockets: environment.tcpSockets,
      untrusted: context.switches.untrusted,
      onChange: options.onChange,
      onChangedOver: () => void this.#cleanUpPackages(),
      onFirstRun: (name, running, error) => this.#packages?.setFirstRun(name, running, error),
    });
  }

  async #createJobs(): Promise<JobManager> {
    const { JobManager } = await import("../../modules/jobs/job_manager.ts");
    const { createJobCaller } = await import("../../modules/jobs/job_caller.ts");
    const { RpcRouter } = await import("../../../shared/rpc/server/router.ts");
    const { clock, log } = this.context;
    const { apis, resources, onChange, interceptors } = this.options;
    const router = new RpcRouter();
    apis.mount(router);
    const call = createJobCaller({
      router,
      interceptors,
      apisOf: (name) =>
        resources.snapshot().filter((one) =>
          one.name === name || fullName(one.api, one.name) === name
        ),
      serviceOf: (api): DescService | undefined => apis.serviceOf(api),
    });
    return new JobManager({ clock, call, log: log.child("job_manager"), onChange });
  }

  async #createRemotes(): Promise<RemoteManager> {
    const { RemoteManager } = await import("../../remotes/remote_manager.ts");
    const { dialRemote } = await import("../../remotes/dial.ts");
    const { clock, switches: { webrtc, allowInsecure }, seat } = this.context;
    const { apis, resources, cloudSignaling, onChange } = this.options;
    const log = this.context.log.child("remotes");
    const peers = async () => {
      const { weriftPeers } = await import("../../../shared/rtc/webrtc/werift_peers.ts");
      return weriftPeers({ clock, log });
    };
    const options = { webrtc, allowInsecure, cloudSignaling, peers, clock, log };
    return new RemoteManager({
      ownId: this.#id,
      apis,
      dial: (settings, signal) => dialRemote(settings, options, signal),
      clock,
      log,
      onChange: (specs, facts) => {
        const wereCaptured = this.#remoteSpecs.some(({ extra }) => extra);
        this.#remoteSpecs = specs;
        const captured = specs.filter(({ extra }) => extra);
        if (wereCaptured || captured.length > 0) seat.setSpecs([...this.#specs, ...captured]);
        resources.setFound(specs, facts);
        onChange();
      },
    });
  }

  async #createProcesses(): Promise<ProcessManager> {
    const { ProcessManager } = await import("../../modules/processes/process_manager.ts");
    const { processes, clock, log, switches, variables, environment } = this.context;
    return new ProcessManager({
      processes,
      clock,
      log: log.child("process"),
      untrusted: switches.untrusted,
      environment: variables(),
      home: environment.home,
    });
  }
}

/** Undefined where there is none, or none that can be read; whoever needs it says so. */
function readManifest(folder: string): PackageManifest | undefined {
  try {
    const manifest: unknown = JSON.parse(Deno.readTextFileSync(`${folder}/meta.json`));
    const entrypoint = (manifest as { entrypoint?: unknown } | null)?.entrypoint;
    return typeof entrypoint === "string" ? { entrypoint } : {};
  } catch {
    return undefined;
  }
}
