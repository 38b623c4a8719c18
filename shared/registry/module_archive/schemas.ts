import { toError } from "../../base/errors/to_error.ts";
import { modelSchemaProblem } from "../model_schema.ts";
import { ArchiveError } from "./archive.ts";
import { withoutDot } from "./entrypoint.ts";
import type { MetaModel } from "./meta.ts";

/** The schema of a model's attributes, as the registry takes it. */
export interface NewSchema {
  readonly api: string;
  readonly model: string;
  readonly schemaJson: string;
}

/** Paths of files of the archive that hold schemas. */
export function schemaPaths(models: readonly MetaModel[]): string[] {
  return models.flatMap(({ schema }) => typeof schema === "string" ? [withoutDot(schema)] : []);
}

/**
 * The schemas that `meta.json` names or holds, checked.
 *
 * @param texts of the files at {@link schemaPaths}
 * @throws {ArchiveError}
 */
export function schemasOf(
  archive: string,
  models: readonly MetaModel[],
  texts: ReadonlyMap<string, string>,
): NewSchema[] {
  return models.flatMap(({ api, model, schema }, at) => {
    if (schema === undefined) return [];
    const wrong = (reason: string) =>
      new ArchiveError(`${archive}: meta.json: the schema of models[${at}] (${model}): ${reason}`);
    const value: unknown = typeof schema === "string" ? parsed(schema, texts, wrong) : schema;
    const problem = modelSchemaProblem(value);
    if (problem) throw wrong(problem);
    return [{ api, model, schemaJson: JSON.stringify(value) }];
  });
}

function parsed(
  path: string,
  texts: ReadonlyMap<string, string>,
  wrong: (reason: string) => Error,
): unknown {
  const text = texts.get(withoutDot(path));
  if (text === undefined) {
    throw wrong(`the archive holds no file ${JSON.stringify(path)} of at most 1 MiB`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw wrong(`${path} is no JSON (${toError(error).message})`);
  }
}
