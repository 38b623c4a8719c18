/**
 * Packages, modules, resources, processes and jobs of one machine, kept in step with its
 * configuration. Most machines have only resources: the other parts are loaded when a
 * configuration first has one of theirs.
 */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import type { FindPackage, PlaceholderSources } from "../../config/source/placeholders.ts";
import {
  type PackageManifest,
  resourceSpecs,
  wantedModules,
  wantedPackages,
} from "../../config/source/wanted.ts";
import type { JobManager, JobSnapshot } from "../../modules/jobs/job_manager.ts";
import type { ModuleManager } from "../../modules/manager/module_manager.ts";
import type { ModuleSnapshot } from "../../modules/manager/module_status.ts";
import type { WantedModule } from "../../modules/manager/wanted_module.ts";
import type { PackageManager } from "../../modules/packages/package_manager.ts";
import type { PackageSnapshot, PackageType } from "../../modules/packages/package_types.ts";
import type { ProcessManager } from "../../modules/processes/process_manager.ts";
import type { RemoteFrames } from "../../resources/frames/frame_system.ts";
import { remoteWorld } from "../../resources/frames/frame_tree.ts";
import type { RemoteManager } from "../../remotes/remote_manager.ts";
import type { RemoteSnapshot } from "../../config/status/machine_status.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";
import type { MachineContext } from "./machine_context.ts";
import {
  loadJobs,
  loadModules,
  loadPackages,
  loadProcesses,
  loadRemotes,
  type PartsOptions,
} from "./part_loading.ts";

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
    private readonly options: PartsOptions,
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
          ask: async (signal, asking) => await this.#remotes?.frames(name, signal, asking) ?? [],
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

  /** Resources of remotes that are captured here count for the data manager as the machine's own. */
  #setRemoteSpecs(specs: readonly ResourceSpec[]): void {
    const wereCaptured = this.#remoteSpecs.some(({ extra }) => extra);
    this.#remoteSpecs = specs;
    const captured = specs.filter(({ extra }) => extra);
    if (wereCaptured || captured.length > 0) {
      this.context.seat.setSpecs([...this.#specs, ...captured]);
    }
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
    const { context, options } = this;
    if (wantedPackages(config).length > 0) {
      this.#packages ??= await loadPackages(context, () => this.#packagesChanged());
    }
    if (config.modules.length > 0) {
      this.#modules ??= await loadModules(context, options, {
        onChangedOver: () => void this.#cleanUpPackages(),
        onFirstRun: (name, running, error) => this.#packages?.setFirstRun(name, running, error),
      });
    }
    if (config.jobs.length > 0) this.#jobs ??= await loadJobs(context, options);
    if (config.processes.length > 0) this.#processes ??= await loadProcesses(context);
    if (config.remotes.length > 0) {
      this.#remotes ??= await loadRemotes(context, options, {
        ownId: this.#id,
        onSpecs: (specs) => this.#setRemoteSpecs(specs),
      });
    }
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
