import type { JsonObject } from "../../../shared/gen/micro/messages.ts";
import type { Host } from "../host/host.ts";
import type { LogQueue } from "../log/log_queue.ts";
import { textOf } from "../rpc/errors.ts";
import type { Api, Driver, Resource } from "./apis.ts";
import { Attributes } from "./attributes.ts";
import type { Model, ModelContext } from "./models.ts";

/** A resource as the configuration has it. */
export interface ResourceConfig {
  readonly name: string;
  readonly api: string;
  readonly model: string;
  readonly attributes: JsonObject;
  readonly dependsOn: readonly string[];
}

/** A resource as it is. */
export interface ResourceState {
  readonly config: ResourceConfig;
  /** What runs; undefined: nothing does. */
  readonly resource: Resource | undefined;
  /** Why the configuration is not in effect; empty: it is. */
  readonly error: string;
  readonly revision: string;
  /** Of the device's start. Milliseconds. */
  readonly updatedAt: number;
  /** Names of resources that it requested. */
  readonly needs: readonly string[];
  /** With which it runs, if another one than `config` does. */
  readonly running: ResourceConfig;
}

/** Builds resources from configurations, and again only what changed. */
export class ResourceGraph {
  #states = new Map<string, ResourceState>();

  constructor(
    private readonly host: Host,
    private readonly models: readonly Model[],
    private readonly log: LogQueue,
  ) {}

  get states(): readonly ResourceState[] {
    return [...this.#states.values()];
  }

  /** What runs under the name. */
  find(api: string, name: string): Resource | undefined {
    const state = this.#states.get(name);
    return state?.config.api === api ? state.resource : undefined;
  }

  stateOf(name: string): ResourceState | undefined {
    return this.#states.get(name);
  }

  /** Makes the resources those of the configuration; each one's failure is its own. */
  apply(configs: readonly ResourceConfig[], revision: string): void {
    const before = this.#states;
    const wanted = new Map(configs.map((config) => [config.name, config]));
    const same = unchanged(before, wanted);
    // Built last, closed first: what needs others ends before them.
    for (const [name, state] of [...before].reverse()) {
      if (!same.has(name)) this.#close(name, state.resource);
    }
    const build = new Build(wanted, {
      kept: (name) => same.has(name) ? before.get(name) : undefined,
      previous: (name) => before.get(name),
      construct: (config, resource) => this.#construct(config, resource),
      failed: (name, text) => this.log.write("error", `resource.${name}`, text),
      revision,
      now: this.host.now(),
    });
    for (const name of wanted.keys()) build.of(name);
    this.#states = build.done;
  }

  /** Ends the motions of these resources; default: of all. */
  halt(names?: ReadonlySet<string>): void {
    for (const [name, { resource }] of this.#states) {
      if (names && !names.has(name)) continue;
      try {
        resource?.halt?.();
      } catch (error) {
        this.log.write("error", `resource.${name}`, `cannot be stopped: ${textOf(error)}`);
      }
    }
  }

  /** Ends all resources. */
  close(): void {
    for (const [name, { resource }] of [...this.#states].reverse()) this.#close(name, resource);
    this.#states.clear();
  }

  #close(name: string, resource: Resource | undefined): void {
    try {
      resource?.close?.();
    } catch (error) {
      this.log.write("error", `resource.${name}`, `did not close: ${textOf(error)}`);
    }
  }

  #construct(config: ResourceConfig, resource: ModelContext["resource"]): Resource {
    const { name, api, model, attributes: values } = config;
    const known = this.models.find((one) => one.api === api && one.model === model);
    if (!known) {
      const others = this.models.filter((one) => one.api === api).map((one) => one.model);
      throw new Error(
        `model ${model} of ${api} is not built into this program; ${
          others.length > 0 ? `there are ${others.join(", ")}` : "nor is any other of this API"
        }`,
      );
    }
    const attributes = new Attributes(values);
    const log: ModelContext["log"] = (level, text) =>
      this.log.write(level, `resource.${name}`, text);
    const built = known.construct({ name, attributes, host: this.host, resource, log });
    for (const unread of attributes.unread) log("warn", `attributes.${unread} has no effect`);
    return built;
  }
}

/** Resources that stay: same configuration, and so have all that they need. */
function unchanged(
  before: ReadonlyMap<string, ResourceState>,
  wanted: ReadonlyMap<string, ResourceConfig>,
): Set<string> {
  const same = new Set<string>();
  for (const [name, { config, error }] of before) {
    const other = wanted.get(name);
    if (error === "" && other && JSON.stringify(config) === JSON.stringify(other)) same.add(name);
  }
  for (let again = true; again;) {
    again = false;
    for (const name of same) {
      if (before.get(name)?.needs.some((one) => !same.has(one))) again = same.delete(name) || again;
    }
  }
  return same;
}

interface BuildOptions {
  kept(name: string): ResourceState | undefined;
  previous(name: string): ResourceState | undefined;
  construct(config: ResourceConfig, resource: ModelContext["resource"]): Resource;
  failed(name: string, text: string): void;
  readonly revision: string;
  readonly now: number;
}

/** One building of a configuration: each resource when it is needed first. */
class Build {
  readonly done = new Map<string, ResourceState>();
  readonly #running = new Set<string>();

  constructor(
    private readonly wanted: ReadonlyMap<string, ResourceConfig>,
    private readonly options: BuildOptions,
  ) {}

  of(name: string): ResourceState {
    const done = this.done.get(name) ?? this.options.kept(name);
    if (done) {
      this.done.set(name, done);
      return done;
    }
    const config = this.wanted.get(name);
    if (!config) throw new Error(`there is no resource ${name} in the configuration`);
    if (this.#running.has(name)) throw new Error(`${name} needs itself by what it needs`);
    this.#running.add(name);
    const state = this.#build(config);
    this.#running.delete(name);
    this.done.set(name, state);
    return state;
  }

  #build(config: ResourceConfig): ResourceState {
    const { revision, now: updatedAt } = this.options;
    const needs = new Set(config.dependsOn);
    const common = { config, revision, updatedAt, running: config };
    try {
      for (const one of config.dependsOn) this.#needed(one);
      const resource = this.#construct(config, needs);
      return { ...common, resource, error: "", needs: [...needs] };
    } catch (failure) {
      const error = textOf(failure);
      this.options.failed(config.name, error);
      const restored = this.#restore(config, needs);
      if (!restored) return { ...common, resource: undefined, error, needs: [...needs] };
      const said = `${error}; the configuration before stays in use`;
      return { ...common, ...restored, error: said, needs: [...needs] };
    }
  }

  /** The one that ran before, by its own configuration. */
  #restore(config: ResourceConfig, needs: Set<string>) {
    const before = this.options.previous(config.name);
    const { running } = before ?? {};
    if (!before?.resource || running?.api !== config.api || running.model !== config.model) {
      return undefined;
    }
    try {
      return { resource: this.#construct(running, needs), running };
    } catch {
      return undefined;
    }
  }

  #construct(config: ResourceConfig, needs: Set<string>): Resource {
    return this.options.construct(config, <A extends Api>(api: A, name: string) => {
      needs.add(name);
      const state = this.#needed(name);
      if (state.config.api !== api) {
        throw new Error(`${name} is of ${state.config.api}, not ${api}`);
      }
      return state.resource as Driver<A> & Resource;
    });
  }

  #needed(name: string): ResourceState {
    const state = this.of(name);
    if (!state.resource) throw new Error(`${name}, which it needs, has an error: ${state.error}`);
    return state;
  }
}
