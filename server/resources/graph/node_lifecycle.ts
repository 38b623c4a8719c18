/** What happens to one resource: it is built, fails, is closed; its state says so. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { ResourceLimits } from "./limits.ts";
import { type Build, buildErrorText, type ResourceNode, type ResourceState } from "./node.ts";
import { optionalInstances } from "./optional.ts";
import { waitingFor } from "./plan.ts";
import type { ModelRegistry } from "./registry.ts";
import type { Resource } from "./resource.ts";
import { startBuild } from "./start_build.ts";

export interface NodeLifecycleOptions {
  readonly registry: ModelRegistry;
  readonly clock: Clock;
  /** Parent of each resource's own logger. */
  readonly log: Logger;
  readonly limits: Pick<ResourceLimits, "buildTimeoutMs" | "closeTimeoutMs">;
  /** All resources, by full name. */
  readonly nodes: ReadonlyMap<string, ResourceNode>;
  /** Called after each change of a resource's state or error. */
  readonly onChange: () => void;
  /** A constructor has ended that was not waited for, or that failed. */
  readonly onEnded: () => void;
}

/** Builds and closes resources of the graph. Only it changes their instances and states. */
export class NodeLifecycle {
  constructor(private readonly options: NodeLifecycleOptions) {}

  /** Builds a resource whose dependencies have settled; resolves when the outcome counts. */
  build(node: ResourceNode, superseded: AbortSignal): Promise<void> {
    const { registry, clock, log, limits, nodes } = this.options;
    if (superseded.aborted || node.build || node.instance) return Promise.resolve();
    const missing = node.target.dependencies.find((key) => !nodes.get(key)?.instance);
    if (missing !== undefined) {
      const reason = nodes.get(missing)?.error || "it is not ready yet";
      this.fail(node, waitingFor(missing, reason));
      return Promise.resolve();
    }
    // A resource that is retried keeps its error in the status until the outcome is known.
    if (node.state !== "unhealthy") this.setState(node, "configuring", "");
    const settled = Promise.withResolvers<void>();
    const optional = optionalInstances(node, nodes);
    const started = startBuild({
      target: node.target,
      registry,
      dependencies: new Map([
        ...node.target.dependencies.map((key) => [key, nodes.get(key)!.instance!] as const),
        ...optional,
      ]),
      log: log.child(node.key),
      clock,
      timeoutMs: limits.buildTimeoutMs,
      onSuccess: (resource) => {
        node.build = undefined;
        node.instance = resource;
        node.usedOptional = optional;
        this.setState(node, "ready", "");
        settled.resolve();
      },
      onFailure: (error) => {
        this.fail(node, buildErrorText(error));
        settled.resolve();
      },
    });
    const build: Build = {
      ended: started.ended,
      settled: settled.promise,
      abandon: (reason) => {
        started.abandon(reason);
        settled.resolve();
      },
    };
    node.build = build;
    // A constructor past its time still runs; the next attempt waits until it has ended.
    void started.ended.then(() => {
      if (node.build !== build) return;
      node.build = undefined;
      this.options.onEnded();
    });
    return settled.promise;
  }

  /** Ends what is built or being built; resolves when it has ended or taken too long. */
  async close(node: ResourceNode): Promise<void> {
    const { instance, build } = node;
    node.instance = undefined;
    node.build = undefined;
    build?.abandon("the configuration changed");
    const closing = instance ? closeResource(instance) : build?.ended;
    try {
      if (await this.#isLate(closing, this.options.limits.closeTimeoutMs)) {
        const seconds = this.options.limits.closeTimeoutMs / 1000;
        this.options.log.error(`closing ${node.key} takes longer than ${seconds} s; going on`, {
          event: "resource_not_closed",
        });
      }
    } catch (error) {
      this.options.log.warn(`closing ${node.key} failed: ${toError(error).message}`, {
        event: "resource_not_closed",
      });
    }
  }

  /** Says why the resource is not there; logs it when it is new. */
  fail(node: ResourceNode, reason: string): void {
    // Of a remote's resources there may be thousands; the remote has logged why they are gone.
    const isLogged = node.target.spec.builtBy === undefined;
    if (this.setState(node, "unhealthy", reason) && isLogged) {
      this.options.log.error(`${node.key} is not available: ${reason}`, {
        event: "resource_unavailable",
        resource: node.key,
      });
    }
  }

  /** @returns false when nothing changed. */
  setState(node: ResourceNode, state: ResourceState, error: string): boolean {
    const changed = node.setState(state, error, this.options.clock.now());
    if (changed) this.options.onChange();
    return changed;
  }

  /** Resolves with true when `work` did not end in time. */
  async #isLate(work: Promise<unknown> | undefined, ms: number): Promise<boolean> {
    if (!work) return false;
    let timer: Timer | undefined;
    const late = new Promise<true>((resolve) => {
      timer = this.options.clock.setTimer(ms, () => resolve(true));
    });
    try {
      return await Promise.race([work.then(() => false), late]);
    } finally {
      timer?.cancel();
    }
  }
}

async function closeResource(resource: Resource): Promise<void> {
  await resource.close?.();
}
