/** One resource of the running graph: its state for status, its instance for calls. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import { reasonOf } from "./errors.ts";
import { problemOf } from "./noted_problems.ts";
import type { Resource } from "./resource.ts";
import type { StartedBuild } from "./start_build.ts";
import type { TargetNode } from "./target.ts";

/** States of a resource as status reports them. */
export type ResourceState = "unconfigured" | "configuring" | "ready" | "removing" | "unhealthy";

/** What status reports of a resource. */
export interface ResourceSnapshot {
  readonly api: string;
  readonly name: string;
  readonly state: ResourceState;
  readonly error: string;
  readonly lastUpdated: Date;
  readonly revision: string;
}

/** A build as the graph sees it. */
export interface Build extends StartedBuild {
  /** Resolves when its outcome counts: it ended, took too long, or was abandoned. */
  readonly settled: Promise<void>;
}

/** A resource of the graph. Only `NodeLifecycle` and the resource manager change it. */
export class ResourceNode {
  /** Present exactly while the resource can be called. */
  instance: Resource | undefined;
  build: Build | undefined;
  /** The optional dependencies that the instance was built with. */
  usedOptional: ReadonlyMap<string, Resource> = new Map();
  /** Calls being answered at the moment. */
  inFlight = 0;
  #state: ResourceState = "unconfigured";
  #error = "";
  #problem: string | undefined;
  #lastUpdated: Date;

  constructor(
    public target: TargetNode,
    /** Revision of the configuration that the resource is built from. */
    public revision: string,
    now: Date,
  ) {
    this.#lastUpdated = now;
  }

  get key(): string {
    return this.target.key;
  }
  get state(): ResourceState {
    return this.#state;
  }
  /** Why it is unhealthy or waits; empty otherwise. */
  get error(): string {
    return this.#error;
  }

  /** @returns false when nothing changed. */
  setState(state: ResourceState, error: string, now: Date): boolean {
    if (this.#state === state && this.#error === error) return false;
    this.#state = state;
    this.#error = error;
    this.#lastUpdated = now;
    return true;
  }

  /**
   * Looks whether something is wrong with what was built.
   *
   * @returns false when nothing changed.
   */
  look(now: Date): boolean {
    const problem = this.#state === "ready" && this.instance ? problemOf(this.instance) : undefined;
    if (problem === this.#problem) return false;
    this.#problem = problem;
    this.#lastUpdated = now;
    return true;
  }

  /** One that was built and has a problem is unhealthy; it can be called nevertheless. */
  snapshot(): ResourceSnapshot {
    const { api, name } = this.target.spec;
    return {
      ...{ api, name, revision: this.revision, lastUpdated: this.#lastUpdated },
      ...(this.#problem === undefined
        ? { state: this.#state, error: this.#error }
        : { state: "unhealthy", error: this.#problem }),
    };
  }

  get phase(): "ready" | "building" | "closed" {
    if (this.instance) return "ready";
    return this.build ? "building" : "closed";
  }
}

/** Status text of a constructor that failed. */
export function buildErrorText(error: unknown): string {
  const { name, message } = toError(error);
  if (name === "AttributeError") return validationErrorText(error);
  if (name === "UnknownModelError" || name === "BuildTimeoutError") return message;
  return `resource build error: ${reasonOf(error)}`;
}

/** Status text of attributes that are wrong. */
export function validationErrorText(error: unknown): string {
  return `resource config validation error: ${toError(error).message}`;
}
