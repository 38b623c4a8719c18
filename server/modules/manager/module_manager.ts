/** The modules of the machine: runs those of the configuration and offers their models. */
import { Code, ConnectError } from "@connectrpc/connect";
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { fsErrorCode } from "../../../shared/base/files/fs_error.ts";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { LogSink } from "../../../shared/log/line.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { ProcessRunner } from "../../../shared/base/process/child_process.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { ModelRegistry } from "../../resources/graph/registry.ts";
import { FIRST_RUN_TIMEOUT_MS, firstRun } from "./first_run.ts";
import { type MachineFacts, moduleEnvironment } from "./module_environment.ts";
import { writeModuleLog } from "./module_log.ts";
import { modelsOf } from "./module_models.ts";
import { type KnownApis, ModuleRun, type ModuleRunOptions } from "./module_run.ts";
import type { ModuleSnapshot } from "./module_status.ts";
import { ModuleSupervisor } from "./module_supervisor.ts";
import type { ModuleTransport, ParentServer } from "./parent_server.ts";
import { checkModules, type WantedModule } from "./wanted_module.ts";

/** From the start of a module to its answer to Ready, unless the environment says otherwise. */
const MODULE_STARTUP_TIMEOUT_MS = 5 * 60_000;
/** What a predecessor of this process left running gets this long. */
const STRAY_GRACE_MS = 5_000;

export interface ModuleManagerOptions {
  readonly registry: ModelRegistry;
  /** Brings the resources in line with the registry; resolves when what had to be closed is. */
  readonly resourcesChanged: () => Promise<void>;
  readonly learned: KnownApis;
  /** Ended by {@link ModuleManager.close}. */
  readonly parent: ParentServer;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  /** The logger `rdk.modmanager`. */
  readonly log: Logger;
  /** Takes lines of modules whatever the level of their logger. */
  readonly writeLog: LogSink;
  /** What is reported to modules of the machine; asked at each start of one. */
  readonly facts: () => MachineFacts;
  /** Folder of the server's state. */
  readonly home: string;
  /** What of this process's variables programs get; asked at each start of a module. */
  readonly readVariables: () => Record<string, string>;
  /** Default {@link MODULE_STARTUP_TIMEOUT_MS}. */
  readonly startupTimeoutMs?: number | undefined;
  /** Speak with all modules over TCP. Default: on Windows only. */
  readonly tcpSockets?: boolean;
  /** Run no modules. Default false. */
  readonly untrusted?: boolean;
  /** Called after each change of {@link ModuleManager.snapshot}. */
  readonly onChange?: () => void;
  /**
   * Notified when a first-run script starts and how it ended; without `error` when it succeeded.
   */
  readonly onFirstRun?: (moduleName: string, running: boolean, error?: string) => void;
  /** Called when a module left a folder it ran from, later than {@link ModuleManager.apply} ended. */
  readonly onChangedOver?: () => void;
}

interface ModulePlace {
  readonly root: string;
  /** The whole environment, by the address that the module is to serve on; "" for a script. */
  readonly environment: ModuleRunOptions["environment"];
}

/**
 * Starts modules side by side, each under a supervisor of its own, and keeps the registry in step
 * with them.
 */
export class ModuleManager {
  readonly #supervisors = new Map<string, ModuleSupervisor>();
  #runs = 0;
  #isClosed = false;

  constructor(private readonly options: ModuleManagerOptions) {}

  /**
   * Moves the modules to what the configuration specifies; those that did not change are not
   * touched. Resolves when each is ready or has failed once; failures are in the status, never
   * thrown.
   *
   * To be called only with configurations that were really read: data folders of modules that are
   * not in them are removed.
   */
  async apply(wanted: readonly WantedModule[]): Promise<void> {
    if (this.#isClosed) return;
    const { untrusted = false, readVariables } = this.options;
    const checked = checkModules(wanted, {
      untrusted,
      userHome: readVariables()["HOME"],
    });
    const names = new Set(checked.map(({ wanted: { name } }) => name));
    const leaving = [...this.#supervisors].filter(([name]) => !names.has(name));
    const removals = leaving.map(([name, supervisor]) => this.#remove(name, supervisor));
    for (const { wanted, hold } of checked) {
      let supervisor = this.#supervisors.get(wanted.name);
      if (!supervisor) {
        supervisor = this.#supervise(wanted.name);
        this.#supervisors.set(wanted.name, supervisor);
      }
      supervisor.want(wanted, hold);
    }
    await Promise.all([
      ...removals,
      ...checked.map(({ wanted }) => this.#supervisors.get(wanted.name)?.settled()),
    ]);
    await this.#removeLeftData();
  }

  /** All modules of the configuration, and those that are about to end. */
  snapshot(): ModuleSnapshot[] {
    return [...this.#supervisors.values()].map((supervisor) => supervisor.snapshot());
  }

  /** The models that modules serve now. */
  models(): { module: string; api: string; model: string; isLocal: boolean }[] {
    return [...this.#supervisors].flatMap(([module, { run, moduleId }]) =>
      (run?.apis ?? []).flatMap(({ api, models }) =>
        models.map((model) => ({ module, api, model, isLocal: moduleId === undefined }))
      )
    );
  }

  /** Folders that modules run from, or will. */
  roots(): string[] {
    return [...this.#supervisors.values()].flatMap(({ roots }) => roots);
  }

  /** Process ids of the modules that run, for measurements. */
  processes(): { module: string; pid: number }[] {
    return [...this.#supervisors].flatMap(([module, { run }]) =>
      run ? [{ module, pid: run.pid }] : []
    );
  }

  /**
   * Ends a module and starts it again; resolves when it is ready.
   *
   * @param refresh looks for newer files of it first; where it is restarted for them, that is
   * the restart.
   * @throws {ConnectError} NOT_FOUND when there is none of that id or name; other codes say why it
   * is not ready.
   */
  async restart(
    which: { id?: string; name?: string },
    refresh: () => Promise<void> = () => Promise.resolve(),
  ): Promise<void> {
    const supervisor = this.#find(which);
    if (supervisor) {
      const before = supervisor.run;
      await refresh();
      if (supervisor.run && supervisor.run !== before) return;
      return await supervisor.restart();
    }
    const asked = which.id ? `id ${which.id}` : `name ${which.name ?? ""}`;
    const known = [...this.#supervisors.keys()].sort().join(", ");
    throw new ConnectError(
      `module not found: this machine's configuration has none of ${asked}; ` +
        (known === "" ? "it has no modules" : `it has ${known}`),
      Code.NotFound,
    );
  }

  /**
   * Takes the lines that a module sent by `RobotService/Log`.
   *
   * @param moduleName the metadata `modName` of the call, as the {@link ParentServer} sets it.
   */
  writeLog(entries: readonly LogEntry[], moduleName: string | undefined): void {
    const { log, writeLog, clock } = this.options;
    writeModuleLog(entries, moduleName ?? "", { root: log.name, write: writeLog, clock });
  }

  /** Ends all modules side by side: resources, TERM, KILL. Then ends the parent server. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor.remove()));
    this.#supervisors.clear();
    await this.options.parent.close();
  }

  /** KILL to all modules, for when the time for a clean end has run out. */
  kill(): void {
    for (const supervisor of this.#supervisors.values()) supervisor.kill();
  }

  #supervise(name: string): ModuleSupervisor {
    const { registry, resourcesChanged, clock, onChange = () => {}, onChangedOver } = this.options;
    const log = this.options.log.child(name);
    let known: ReturnType<typeof modelsOf> = [];
    let isFirstStart = true;
    return new ModuleSupervisor({
      name,
      clock,
      log,
      onChange,
      ...(onChangedOver && { onChangedOver }),
      prepare: async (module, signal) => {
        await this.#firstRun(module, await this.#place(module), log, signal);
      },
      start: async (module, signal) => {
        if (isFirstStart) await this.#endStray(name, log);
        isFirstStart = false;
        return await this.#start(module, log, signal);
      },
      publish: async ({ run, unavailable, starting }) => {
        if (run) known = this.#modelsOf(name, run, log);
        const taken = registry.setModule(name, { models: known, unavailable, starting });
        for (const { api, model } of run ? taken : []) {
          log.warn(`model ${model} of API ${api} is there already; the module's is not used`);
        }
        await resourcesChanged();
      },
      withdraw: async () => {
        registry.removeModule(name);
        await resourcesChanged();
      },
    });
  }

  #modelsOf(moduleName: string, run: ModuleRun, log: Logger) {
    return modelsOf({
      moduleName,
      run,
      learned: this.options.learned,
      generation: `${moduleName} ${++this.#runs}`,
      log,
    });
  }

  async #start(module: WantedModule, log: Logger, signal: AbortSignal): Promise<ModuleRun> {
    const { startupTimeoutMs = MODULE_STARTUP_TIMEOUT_MS } = this.options;
    const { processes, clock, parent, learned } = this.options;
    const place = await this.#place(module);
    const { root, environment } = place;
    await this.#firstRun(module, place, log, signal);
    return await ModuleRun.start({
      module,
      root,
      transport: this.#transportOf(module),
      environment,
      tree: this.#treeOf(module.name),
      parent,
      learned,
      processes,
      clock,
      log,
      startupTimeoutMs,
    }, signal);
  }

  /** Where the module runs, with what variables; makes its folder for data. */
  async #place(module: WantedModule): Promise<ModulePlace> {
    const { facts, home, readVariables } = this.options;
    const root = module.root || dirname(module.executable);
    const dataFolder = join(this.#dataRoot(), module.name);
    await Deno.mkdir(dataFolder, { recursive: true, mode: 0o750 });
    const environment: ModulePlace["environment"] = (address, admission) =>
      moduleEnvironment({
        inherited: readVariables(),
        facts: facts(),
        module,
        home,
        dataFolder,
        root,
        address,
        ...(admission && { admission }),
      });
    return { root, environment };
  }

  async #firstRun(
    module: WantedModule,
    { root, environment }: ModulePlace,
    log: Logger,
    signal: AbortSignal,
  ): Promise<void> {
    const { processes, clock, onFirstRun = () => {} } = this.options;
    let started = false;
    try {
      await firstRun({
        moduleName: module.name,
        root,
        version: module.version ?? module.executable,
        timeoutMs: module.firstRunTimeoutMs || FIRST_RUN_TIMEOUT_MS,
        env: environment(""),
        processes,
        clock,
        log,
        onStart: () => {
          started = true;
          onFirstRun(module.name, true);
        },
      }, signal);
      if (started) onFirstRun(module.name, false);
    } catch (error) {
      onFirstRun(module.name, false, (error as Error).message);
      throw error;
    }
  }

  #transportOf(module: WantedModule): ModuleTransport {
    const isNeeded = Deno.build.os === "windows";
    return module.tcpMode || (this.options.tcpSockets ?? false) || isNeeded ? "tcp" : "unix";
  }

  async #remove(name: string, supervisor: ModuleSupervisor): Promise<void> {
    await supervisor.remove();
    // A newer configuration may have it again.
    if (supervisor.state.kind === "gone" && this.#supervisors.get(name) === supervisor) {
      this.#supervisors.delete(name);
      await this.options.parent.release(name);
      this.options.onChange?.();
    }
  }

  #find({ id, name }: { id?: string; name?: string }): ModuleSupervisor | undefined {
    if (name) return this.#supervisors.get(name);
    return [...this.#supervisors.values()].find((supervisor) => id && supervisor.moduleId === id);
  }

  /** Ends what a server that was killed left running: it may hold a device. */
  async #endStray(name: string, log: Logger): Promise<void> {
    const mark = { pid: 0, started: "", tree: this.#treeOf(name) };
    const ended = await this.options.processes.endStray(mark, { graceMs: STRAY_GRACE_MS });
    if (ended > 0) {
      log.warn("killed a module left from an earlier run", {
        event: "leftovers_killed",
        processes: ended,
      });
    }
  }

  /** The same for each run of a module on this machine, and for no other module. */
  #treeOf(name: string): string {
    const text = `${this.#dataRoot()}/${name}`;
    return createHash("sha256").update(text).digest("hex").slice(0, 24);
  }

  #dataRoot(): string {
    const { home, facts } = this.options;
    return join(home, "module-data", facts().machinePartId || "local");
  }

  async #removeLeftData(): Promise<void> {
    const root = this.#dataRoot();
    try {
      for await (const { name } of Deno.readDir(root)) {
        if (this.#supervisors.has(name)) continue;
        await Deno.remove(join(root, name), { recursive: true });
        this.options.log.info("removed the data of a module that is no longer configured", {
          module: name,
        });
      }
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return;
      this.options.log.warn(`data of modules in ${root} cannot be removed`, { error });
    }
  }
}
