import catalogue from "virtual:machine-catalogue";
import type { JsonSchema, KnownModel } from "./schema.ts";

/** JSON Schema of a configuration. */
export const configSchema: JsonSchema = catalogue.config;

/** The models that come with machine-server. */
export const builtInModels: readonly KnownModel[] = catalogue.models
  .map(({ api, model, attribute_schema }) => ({ api, model, attributes: attribute_schema }));
