/** The models this server can build, and what `-dump-resources` prints of them. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Attributes } from "./attributes.ts";
import type { Construction, Resource } from "./resource.ts";

/** How to build resources of one model. */
export interface Model<A> {
  /** `rdk:component:sensor` */
  readonly api: string;
  /** `rdk:builtin:host` */
  readonly model: string;
  readonly attributes: Attributes<A>;
  construct(construction: Construction<A>): Resource | Promise<Resource>;
}

/** A construction whose attributes have not been checked yet. */
export type UncheckedConstruction = Construction<JsonObject>;

/** A registered model with its attribute type hidden. */
export interface RegisteredModel {
  readonly api: string;
  readonly model: string;
  readonly attributeSchema: JsonObject;
  /** Checks the attributes, warns of unknown keys, builds. */
  construct(construction: UncheckedConstruction): Promise<Resource>;
}

/** No registered model fits an entry of the configuration. */
export class UnknownModelError extends Error {
  override readonly name = "UnknownModelError";
}

/** Models by API and name. */
export class ModelRegistry {
  readonly #models = new Map<string, RegisteredModel>();

  /** Adds a model; throws when its API already has one of that name. */
  register<A>(model: Model<A>): this {
    const key = keyOf(model.api, model.model);
    if (this.#models.has(key)) {
      throw new Error(`model ${model.model} of API ${model.api} is registered twice`);
    }
    this.#models.set(key, {
      api: model.api,
      model: model.model,
      attributeSchema: model.attributes.schema,
      construct: async (unchecked) => {
        const { attributes, unknown } = model.attributes.parse(unchecked.attributes);
        for (const key of unknown) {
          unchecked.log.warn(
            `attribute ${key} is not known to model ${model.model}; it is ignored`,
          );
        }
        return await model.construct({ ...unchecked, attributes });
      },
    });
    return this;
  }

  /** @throws {UnknownModelError} */
  find(api: string, model: string): RegisteredModel {
    const found = this.#models.get(keyOf(api, model));
    if (found) return found;
    const others = [...this.#models.values()].filter((entry) => entry.api === api);
    const known = others.length > 0
      ? ` This server has ${others.map((entry) => entry.model).sort().join(", ")} for that API.`
      : "";
    throw new UnknownModelError(
      `unknown resource type: API ${api} with model ${model} not registered; ` +
        `There may be no module in config that provides this model.${known}`,
    );
  }

  /** All models, sorted by API, then model. */
  list(): RegisteredModel[] {
    return [...this.#models.values()].sort((a, b) =>
      compare(a.api, b.api) || compare(a.model, b.model)
    );
  }

  /** The entries of `-dump-resources`. */
  dump(): JsonObject[] {
    return this.list().map((entry) => ({
      api: entry.api,
      model: entry.model,
      attribute_schema: entry.attributeSchema,
    }));
  }
}

function keyOf(api: string, model: string): string {
  return `${api} ${model}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
