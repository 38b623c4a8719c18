/** Keeps the running resources in step with the configuration. */
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { aborted } from "./aborted.ts";
import { Limiter } from "./limiter.ts";
import { DEFAULT_LIMITS, type ResourceLimits } from "./limits.ts";
import { ResourceNode, type ResourceSnapshot, type ResourceState } from "./node.ts";
import { ModelFactsSource } from "./model_facts.ts";
import { NodeLifecycle } from "./node_lifecycle.ts";
import { hasStaleOptional } from "./optional.ts";
import { type Current, type CurrentNode, type Plan, planChanges } from "./plan.ts";
import type { ModelRegistry } from "./registry.ts";
import type { Resource } from "./resource.ts";
import { ResourceIndex } from "./resource_index.ts";
import { buildTarget, type RemotesFacts, type ResourceSpec, type Target } from "./target.ts";

export interface ResourceManagerOptions {
  registry: ModelRegistry;
  clock: Clock;
  /** Parent of each resource's own logger. */
  log: Logger;
  limits?: Partial<ResourceLimits>;
  /** Called after each change of a resource's state, error or revision. */
  onChange?: () => void;
}

/** A resource and what it depends on. */
export interface GraphNode {
  /** Full name. */
  readonly key: string;
  readonly state: ResourceState;
  /** Full names. */
  readonly dependencies: readonly string[];
  readonly optional: readonly string[];
}

/** One walk over a plan. */
interface Run {
  readonly controller: AbortController;
  /** Resolves when what has to be closed is closed, or the run was superseded. */
  readonly closed: PromiseWithResolvers<void>;
  readonly done: Promise<void>;
}

/**
 * Builds, rebuilds and closes resources. One run at a time walks a plan; a newer configuration or a
 * retry ends the scheduling of the run before it, while constructors already at work continue when
 * they are still wanted.
 */
export class ResourceManager {
  readonly index: ResourceIndex;
  readonly #nodes = new Map<string, ResourceNode>();
  readonly #limits: ResourceLimits;
  readonly #limiter: Limiter;
  readonly #facts: ModelFactsSource;
  readonly #lifecycle: NodeLifecycle;
  #specs: readonly ResourceSpec[] = [];
  #found: readonly ResourceSpec[] = [];
  #remotes: RemotesFacts = new Map();
  #revision = "";
  #run: Run | undefined;
  #retry: Timer | undefined;
  #pendingLimit: Timer | undefined;
  #settledWaiters: (() => void)[] = [];
  #closed = false;

  constructor(private readonly options: ResourceManagerOptions) {
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#limiter = new Limiter(this.#limits.concurrentBuilds);
    this.index = new ResourceIndex(this.#limits.concurrentCalls);
    this.#facts = new ModelFactsSource(
      options.registry,
      options.log,
      () => void this.#startRun(),
    );
    this.#lifecycle = new NodeLifecycle({
      ...{ registry: options.registry, clock: options.clock, log: options.log },
      limits: this.#limits,
      nodes: this.#nodes,
      onChange: () => options.onChange?.(),
      onEnded: () => this.#retryLater(),
    });
  }

  /**
   * Moves the resources to what `specs` say. Resolves when each of them has been tried at least
   * once; failures are in the status and retried, never thrown. Resources that wait for a module to
   * start are waited for too, for a bounded time.
   */
  apply(specs: readonly ResourceSpec[], revision: string): Promise<void> {
    if (this.#closed) return Promise.resolve();
    this.#specs = specs;
    this.#revision = revision;
    const settled = new Promise<void>((resolve) => this.#settledWaiters.push(resolve));
    this.#pendingLimit?.cancel();
    this.#pendingLimit = this.options.clock.setTimer(
      this.#limits.pendingMs,
      () => this.#settle(),
    );
    this.#startRun();
    return settled;
  }

  /**
   * Takes the resources that are found on remotes, in place of those before, and what is known of
   * the remotes. Resources that depend on what came, changed or went are built or closed.
   */
  setFound(specs: readonly ResourceSpec[], remotes: RemotesFacts): void {
    this.#found = specs;
    this.#remotes = remotes;
    if (!this.#closed) this.#startRun();
  }

  /**
   * The registry changed. Resolves when the resources whose models are gone or new have been
   * closed; they are built again after it.
   */
  async refresh(): Promise<void> {
    if (this.#closed) return;
    let run = this.#startRun();
    await run.closed.promise;
    while (this.#run && run !== this.#run) {
      run = this.#run;
      await run.closed.promise;
    }
  }

  /** True while resources are being built or closed for the first time after a change. */
  get busy(): boolean {
    return this.#settledWaiters.length > 0;
  }

  /** Notices resources that have got a problem since they were built, or are rid of it. */
  look(): void {
    const now = this.options.clock.now();
    let changed = false;
    for (const node of this.#nodes.values()) changed = node.look(now) || changed;
    if (changed) this.options.onChange?.();
  }

  /** All resources as they are now, in the order of the configuration. */
  snapshot(): ResourceSnapshot[] {
    this.look();
    return [...this.#nodes.values()].map((node) => node.snapshot());
  }

  /** Ready resources with their API and name. */
  *ready(): Iterable<{ api: string; name: string; resource: Resource }> {
    for (const node of this.#nodes.values()) {
      if (node.instance) {
        yield { api: node.target.spec.api, name: node.target.spec.name, resource: node.instance };
      }
    }
  }

  /** All resources with what they depend on, in the order of the configuration. */
  graph(): GraphNode[] {
    return [...this.#nodes.values()].map(({ key, state, target }) => ({
      key,
      state,
      dependencies: target.dependencies,
      optional: target.optional,
    }));
  }

  /** Closes everything, dependents first. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#specs = [];
    this.#found = [];
    const run = this.#startRun();
    this.#closed = true;
    this.#pendingLimit?.cancel();
    await run.done;
  }

  #startRun(): Run {
    if (this.#closed) return this.#run!;
    this.#retry?.cancel();
    this.#retry = undefined;
    const previous = this.#run;
    previous?.controller.abort();
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    const done = (async () => {
      await previous?.done;
      // A still newer run may have been requested while waiting; it does the work.
      if (!controller.signal.aborted) await this.#walk(controller.signal, closed.resolve);
      closed.resolve();
    })();
    return this.#run = { controller, closed, done };
  }

  async #walk(superseded: AbortSignal, onClosed: () => void): Promise<void> {
    const target = buildTarget(
      this.#found.length > 0 ? [...this.#specs, ...this.#found] : this.#specs,
      (key, spec) => this.#facts.factsOf(key, spec),
      this.#remotes,
    );
    const plan = planChanges(this.#current(), target);
    this.#prepare(plan, target);
    await this.#closeLevels(plan);
    for (const key of plan.remove) {
      this.#nodes.delete(key);
      this.index.delete(key);
    }
    if (plan.remove.length > 0) this.#facts.keepOnly(new Set(target.keys()));
    onClosed();
    this.options.onChange?.();
    await this.#buildAll(plan, superseded);
    if (superseded.aborted) return;
    if (this.#hasStale()) return void this.#startRun();
    if (this.#facts.hasFailures) this.#retryLater();
    if (plan.pending.size === 0) this.#settle();
  }

  #settle(): void {
    this.#pendingLimit?.cancel();
    const waiters = this.#settledWaiters;
    this.#settledWaiters = [];
    for (const resolve of waiters) resolve();
  }

  #hasStale(): boolean {
    for (const node of this.#nodes.values()) {
      if (node.instance && hasStaleOptional(node, this.#nodes)) return true;
    }
    return false;
  }

  #current(): Current {
    const current = new Map<string, CurrentNode>();
    for (const [key, node] of this.#nodes) {
      const { fingerprint, dependencies } = node.target;
      const stale = node.instance !== undefined && hasStaleOptional(node, this.#nodes);
      current.set(key, { fingerprint, dependencies, phase: node.phase, stale });
    }
    return current;
  }

  /** Brings the nodes' targets, revisions and states in line with the plan; builds nothing yet. */
  #prepare(plan: Plan, target: Target): void {
    for (const key of plan.remove) this.#lifecycle.setState(this.#nodes.get(key)!, "removing", "");
    const closing = new Set(plan.close.flat());
    for (const wanted of target.values()) {
      let node = this.#nodes.get(wanted.key);
      if (!node) {
        node = new ResourceNode(wanted, this.#revision, this.options.clock.now());
        this.#nodes.set(wanted.key, node);
        this.index.add(node);
      }
      node.target = wanted;
      node.revision = this.#revision;
      const reason = plan.blocked.get(wanted.key);
      const pending = plan.pending.get(wanted.key);
      if (reason !== undefined) this.#lifecycle.fail(node, reason);
      else if (pending !== undefined) this.#lifecycle.setState(node, "configuring", pending);
      else if (closing.has(wanted.key)) this.#lifecycle.setState(node, "configuring", "");
    }
  }

  async #closeLevels(plan: Plan): Promise<void> {
    for (const level of plan.close) {
      await Promise.all(level.map((key) => this.#lifecycle.close(this.#nodes.get(key)!)));
    }
  }

  /** Each build starts as soon as its own dependencies have settled, at most so many at a time. */
  async #buildAll(plan: Plan, superseded: AbortSignal): Promise<void> {
    const builds = new Map<string, Promise<void>>();
    for (const [key, { build }] of this.#nodes) if (build) builds.set(key, build.settled);
    for (const key of plan.build.flat()) {
      const node = this.#nodes.get(key)!;
      const { dependencies, optional } = node.target;
      const before = [...dependencies, ...optional].map((dependency) => builds.get(dependency));
      const build = Promise.all(before).then(() =>
        this.#limiter.run(() => this.#lifecycle.build(node, superseded))
      );
      builds.set(key, build);
    }
    await Promise.race([Promise.all(builds.values()), aborted(superseded)]);
  }

  #retryLater(): void {
    if (this.#closed || this.#retry) return;
    this.#retry = this.options.clock.setTimer(this.#limits.retryMs, () => {
      this.#facts.forgetFailures();
      this.#startRun();
    });
  }
}
