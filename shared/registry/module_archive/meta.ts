import type { JsonObject } from "@bufbuild/protobuf";
import { toError } from "../../base/errors/to_error.ts";
import { isJsonObject } from "../../base/json/json.ts";
import { ArchiveError } from "./archive.ts";

/** A model as `meta.json` lists it. */
export interface MetaModel {
  readonly api: string;
  readonly model: string;
  /** JSON Schema of its attributes, or the path of a file in the archive that holds it. */
  readonly schema?: JsonObject | string;
}

/** What `meta.json` at the root of a module's archive says; all of it may be left out. */
export interface ModuleMeta {
  /** `namespace:name` */
  readonly moduleId: string | undefined;
  readonly url: string | undefined;
  readonly description: string | undefined;
  readonly models: readonly MetaModel[];
  readonly entrypoint: string | undefined;
  readonly firstRun: string | undefined;
}

/** @throws {ArchiveError} that names the field. */
export function parseMeta(archive: string, text: string): ModuleMeta {
  const wrong = (reason: string) => new ArchiveError(`${archive}: meta.json ${reason}`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw wrong(`is no JSON (${toError(error).message})`);
  }
  if (!isJsonObject(value)) throw wrong("must be a JSON object");
  const meta = value;
  const textAt = (key: string): string | undefined => {
    const found = meta[key];
    if (found === undefined || found === null || found === "") return undefined;
    if (typeof found === "string") return found;
    throw wrong(`has a ${key} that is no text: ${JSON.stringify(found).slice(0, 100)}`);
  };
  const models = meta["models"] ?? [];
  if (!Array.isArray(models)) throw wrong("has models that are no list");
  return {
    moduleId: textAt("module_id"),
    url: textAt("url"),
    description: textAt("description"),
    entrypoint: textAt("entrypoint"),
    firstRun: textAt("first_run"),
    models: models.map((entry, at) => {
      const { api, model, schema } = isJsonObject(entry) ? entry : {};
      if (typeof api !== "string" || typeof model !== "string") {
        throw wrong(`has no api and model in models[${at}]`);
      }
      if (schema === undefined || schema === null) return { api, model };
      if (typeof schema === "string" || isJsonObject(schema)) return { api, model, schema };
      throw wrong(`has a models[${at}].schema that is neither a JSON Schema nor a file's path`);
    }),
  };
}

/** What the registry keeps of it for the module, besides its entrypoint. */
export function describedBy(meta: ModuleMeta | undefined) {
  return {
    models: (meta?.models ?? []).map(({ api, model }) => ({ api, model })),
    url: meta?.url ?? "",
    description: meta?.description ?? "",
    ...(meta?.firstRun === undefined ? {} : { firstRun: meta.firstRun }),
  };
}
