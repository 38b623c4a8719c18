/** The models this server can build, built in or brought by modules. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Attributes } from "./attributes.ts";
import type { Construction, Resource } from "./resource.ts";
import type { ResourceSpec } from "./target.ts";

/** Names of resources, short or full, that a resource needs next to its `depends_on`. */
export interface ImplicitDependencies {
  /** Must be ready first. */
  readonly required?: readonly string[];
  /** Are waited for where they are configured, and done without where they are not ready. */
  readonly optional?: readonly string[];
}

/** How to build resources of one model. */
export interface Model<A> {
  /** `rdk:component:sensor` */
  readonly api: string;
  /** `rdk:builtin:host` */
  readonly model: string;
  readonly attributes: Attributes<A>;
  /**
   * With what it was tried, and with what not: "a pair of pseudo terminals; no real receiver".
   * `docs/models.md` has it. Default: nobody knows.
   */
  readonly triedWith?: string;
  /** What the attributes make a resource depend on. Default: nothing. */
  dependencies?(attributes: A): ImplicitDependencies;
  /** All resources of these APIs are optional dependencies. Default: none. */
  readonly weakDependencies?: readonly string[];
  construct(construction: Construction<A>): Resource | Promise<Resource>;
}

/** A construction whose attributes have not been checked yet. */
export interface UncheckedConstruction extends Construction<JsonObject> {
  /** The whole entry of the configuration. */
  readonly spec: ResourceSpec;
}

/** A registered model with its attribute type hidden. */
export interface RegisteredModel {
  readonly api: string;
  readonly model: string;
  readonly attributeSchema: JsonObject;
  /** As in {@link Model}; undefined for models of modules. */
  readonly triedWith?: string;
  /** The module that brought it; undefined for models that are built in. */
  readonly module?: string;
  /** Resources are built again when this changes; a module changes it with each start. */
  readonly generation: string;
  readonly weakDependencies?: readonly string[];
  /**
   * Checks the attributes and says what they make the resource depend on. What it throws is the
   * resource's error.
   */
  dependencies?(
    spec: ResourceSpec,
    signal: AbortSignal,
  ): ImplicitDependencies | Promise<ImplicitDependencies>;
  /** Checks the attributes, warns of unknown keys, builds. */
  construct(construction: UncheckedConstruction): Promise<Resource>;
}

/** The models of one module. */
export interface ModuleModels {
  readonly models: readonly RegisteredModel[];
  /** Why they can't be built at the moment; undefined while they can. */
  readonly unavailable?: string | undefined;
  /**
   * True while the module is on its way to be ready for the first time: resources of models that
   * nobody has wait for it and are not called wrong. Default false.
   */
  readonly starting?: boolean;
}

/** What the registry reports of an API and a model name. */
export type ModelLookup =
  | { readonly model: RegisteredModel }
  /** It may come with a module that starts. */
  | { readonly pending: string }
  /** It can't be built now. */
  | { readonly problem: string };

/** No registered model fits an entry of the configuration, or its module does not run. */
class UnknownModelError extends Error {
  override readonly name = "UnknownModelError";
}

/** Models by API and name. */
export class ModelRegistry {
  readonly #models = new Map<string, RegisteredModel>();
  readonly #modules = new Map<string, ModuleModels>();
  readonly #later: (() => Promise<ModelRegistry>)[] = [];

  /** Adds a model; throws when its API already has one of that name. */
  register<A>(model: Model<A>): this {
    return this.#add(registered(model));
  }

  /**
   * Adds models of one name whose code is loaded when the first of them is built. Nothing
   * but `depends_on` says what they depend on.
   *
   * @param load gives a registry with these models.
   */
  registerLater(model: string, apis: readonly string[], load: () => Promise<ModelRegistry>): this {
    let loading: Promise<ModelRegistry> | undefined;
    const loaded = () => loading ??= load();
    for (const api of apis) {
      this.#add({
        api,
        model,
        attributeSchema: {},
        generation: BUILT_IN,
        construct: async (unchecked) => (await loaded()).find(api, model).construct(unchecked),
      });
    }
    this.#later.push(loaded);
    return this;
  }

  #add(model: RegisteredModel): this {
    const key = keyOf(model.api, model.model);
    if (this.#models.has(key)) {
      throw new Error(`model ${model.model} of API ${model.api} is registered twice`);
    }
    this.#models.set(key, model);
    return this;
  }

  /**
   * Puts the models of a module in place of those it had. A model that is built in, or that another
   * module brought first, is not replaced; those are returned.
   */
  setModule(module: string, brought: ModuleModels): RegisteredModel[] {
    this.#modules.set(module, brought);
    return brought.models.filter((model) => this.#resolve(model.api, model.model)?.model !== model);
  }

  /** Forgets a module and its models. */
  removeModule(module: string): void {
    this.#modules.delete(module);
  }

  /** @throws {UnknownModelError} when the model can't be built now. */
  find(api: string, model: string): RegisteredModel {
    const found = this.lookup(api, model);
    if ("model" in found) return found.model;
    throw new UnknownModelError("pending" in found ? found.pending : found.problem);
  }

  lookup(api: string, model: string): ModelLookup {
    const found = this.#resolve(api, model);
    if (found?.unavailable !== undefined) {
      return found.starting ? { pending: found.unavailable } : { problem: found.unavailable };
    }
    if (found) return { model: found.model };
    const starting = [...this.#modules].filter(([, { starting }]) => starting).map(([name]) =>
      name
    );
    if (starting.length > 0) {
      return { pending: `waiting for module ${starting.join(", ")} to start` };
    }
    return { problem: this.#unknownText(api, model) };
  }

  #unknownText(api: string, model: string): string {
    const others = this.list().filter((entry) => entry.api === api);
    const known = others.length > 0
      ? ` This server has ${others.map((entry) => entry.model).join(", ")} for that API.`
      : "";
    const failing = [...this.#modules].filter(([, { unavailable }]) => unavailable !== undefined)
      .map(([name]) => name);
    const perhaps = failing.length > 0
      ? ` Perhaps it comes with a module that does not run: ${failing.join(", ")}.`
      : "";
    return `unknown resource type: API ${api} with model ${model} not registered; ` +
      `There may be no module in config that provides this model.${perhaps}${known}`;
  }

  #resolve(
    api: string,
    model: string,
  ): { model: RegisteredModel; unavailable?: string | undefined; starting?: boolean } | undefined {
    const builtIn = this.#models.get(keyOf(api, model));
    if (builtIn) return { model: builtIn };
    for (const { models, unavailable, starting = false } of this.#modules.values()) {
      const found = models.find((entry) => entry.api === api && entry.model === model);
      if (found) return { model: found, unavailable, starting };
    }
  }

  /** All models, sorted by API, then model. */
  list(): RegisteredModel[] {
    const modular = [...this.#modules.values()].flatMap(({ models }) => models);
    return [...this.#models.values(), ...modular].sort((a, b) =>
      compare(a.api, b.api) || compare(a.model, b.model)
    );
  }

  /** The entries of `-dump-resources`. Loads the code of every model. */
  async dump(): Promise<JsonObject[]> {
    for (const load of this.#later.splice(0)) {
      for (const model of (await load()).list()) {
        this.#models.set(keyOf(model.api, model.model), model);
      }
    }
    return this.list().map((entry) => ({
      api: entry.api,
      model: entry.model,
      attribute_schema: entry.attributeSchema,
    }));
  }
}

const BUILT_IN = "built in";

function registered<A>(model: Model<A>): RegisteredModel {
  const { dependencies, weakDependencies, triedWith } = model;
  return {
    api: model.api,
    model: model.model,
    attributeSchema: model.attributes.schema,
    generation: BUILT_IN,
    ...(weakDependencies && { weakDependencies }),
    ...(triedWith !== undefined && { triedWith }),
    ...(dependencies && {
      dependencies: (spec) => dependencies(model.attributes.parse(spec.attributes).attributes),
    }),
    construct: async (unchecked) => {
      const { attributes, unknown } = model.attributes.parse(
        unchecked.attributes,
        (message) => unchecked.log.warn(message),
      );
      for (const key of unknown) {
        unchecked.log.warn(`attribute ${key} is not known to model ${model.model}; it is ignored`);
      }
      return await model.construct({ ...unchecked, attributes });
    },
  };
}

function keyOf(api: string, model: string): string {
  return `${api} ${model}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
