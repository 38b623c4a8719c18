/** The models of a running module, in the form in which the resource graph builds them. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { isBuiltInDependency } from "../../../shared/config/dependencies.ts";
import { ModuleService } from "../../../shared/gen/viam/module/v1/module_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { cameraHealth } from "../forwarding/camera_health.ts";
import { forwardedResource } from "../forwarding/forwarded_resource.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { fullName } from "../../resources/graph/name.ts";
import type {
  ImplicitDependencies,
  RegisteredModel,
  UncheckedConstruction,
} from "../../resources/graph/registry.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";
import type { KnownApis, ModuleRun } from "./module_run.ts";
import type { ModuleApi } from "./ready.ts";
import { resourceConfig } from "./resource_config.ts";

/** ValidateConfig may take this long, as in the reference server. */
const VALIDATE_MS = 5_000;
/** RemoveResource may take this long: the time that all of a module's have together. */
const REMOVE_MS = 20_000;
/** Nobody waits longer for a resource; the graph's own limit is shorter unless it was raised. */
const ADD_MS = 10 * 60_000;

const CAMERA_API = "rdk:component:camera";

export interface ModuleModelsOptions {
  readonly moduleName: string;
  readonly run: ModuleRun;
  readonly learned: KnownApis;
  /** Changes with every run. */
  readonly generation: string;
  readonly log: Logger;
}

/** All models of the run. */
export function modelsOf(options: ModuleModelsOptions): RegisteredModel[] {
  const builder = new ModularResources(options);
  return options.run.apis.flatMap((api) =>
    api.models.map((model): RegisteredModel => ({
      api: api.api,
      model,
      attributeSchema: { type: "object" },
      module: options.moduleName,
      generation: options.generation,
      dependencies: (spec, signal) => builder.validate(spec, signal),
      construct: (construction) => builder.construct(api, construction),
    }))
  );
}

class ModularResources {
  readonly #client;
  /** Removals under way, by full name: an add waits for them. */
  readonly #removals = new Map<string, Promise<void>>();

  constructor(private readonly options: ModuleModelsOptions) {
    this.#client = createClient(ModuleService, options.run.channel.transport);
  }

  async validate(spec: ResourceSpec, signal: AbortSignal): Promise<ImplicitDependencies> {
    const { moduleName } = this.options;
    try {
      const answer = await this.#client.validateConfig(
        { config: resourceConfig(spec) },
        { timeoutMs: VALIDATE_MS, signal },
      );
      return {
        required: answer.dependencies.filter((name) => !isBuiltInDependency(name)),
        optional: answer.optionalDependencies.filter((name) => !isBuiltInDependency(name)),
      };
    } catch (error) {
      signal.throwIfAborted();
      if (ConnectError.from(error).code === Code.Unimplemented) return {};
      throw new Error(wordsOf(error, moduleName, "check the configuration", VALIDATE_MS), {
        cause: error,
      });
    }
  }

  async construct(api: ModuleApi, construction: UncheckedConstruction): Promise<Resource> {
    const { run, learned, moduleName, log } = this.options;
    const { spec, dependencies, signal } = construction;
    const name = fullName(spec.api, spec.name);
    const service = learned.serviceOf(api.api);
    if (!service) {
      throw new Error(
        `module ${moduleName} does not describe the service ${api.serviceName} of API ` +
          `${api.api}; turn on gRPC reflection in the module`,
      );
    }
    await this.#removals.get(name);
    signal.throwIfAborted();
    try {
      await this.#client.addResource(
        { config: resourceConfig(spec), dependencies: [...dependencies.keys()] },
        { timeoutMs: ADD_MS, signal },
      );
    } catch (error) {
      // It may have come so far that the module has it; a later attempt must find none.
      if (isCutShort(error) || signal.aborted) void this.#remove(name, () => {});
      signal.throwIfAborted();
      throw new Error(wordsOf(error, moduleName, `construct ${name}`, ADD_MS), { cause: error });
    }
    const remove = () => this.#remove(name, (problem) => log.warn(problem));
    const there = { service, name: spec.name, remove };
    if (spec.api !== CAMERA_API) return forwardedResource({ channel: run.channel, ...there });
    const { channel, problem } = cameraHealth(run.channel);
    return { ...forwardedResource({ channel, ...there }), problem };
  }

  /** Notifies the module that a resource goes. A module that has ended has lost it anyway. */
  #remove(name: string, tell: (problem: string) => void): Promise<void> {
    const removal = this.#callRemove(name, tell).finally(() => {
      if (this.#removals.get(name) === removal) this.#removals.delete(name);
    });
    this.#removals.set(name, removal);
    return removal;
  }

  async #callRemove(name: string, tell: (problem: string) => void): Promise<void> {
    const { run } = this.options;
    if (!run.isAlive) return;
    try {
      await this.#client.removeResource({ name }, { timeoutMs: REMOVE_MS });
    } catch (error) {
      if (run.isAlive) tell(`the module did not remove ${name}: ${reasonOf(error)}`);
    }
  }
}

function isCutShort(error: unknown): boolean {
  const { code } = ConnectError.from(error);
  return code === Code.DeadlineExceeded || code === Code.Canceled || code === Code.Unavailable;
}

/** The module's own words where it gave some. */
function wordsOf(error: unknown, moduleName: string, what: string, limitMs: number): string {
  switch (ConnectError.from(error).code) {
    case Code.DeadlineExceeded:
      return `module ${moduleName} did not ${what} within ${limitMs / 1000} s`;
    case Code.Unavailable:
      return `module ${moduleName} went away before it could ${what}`;
    default:
      return reasonOf(error);
  }
}
