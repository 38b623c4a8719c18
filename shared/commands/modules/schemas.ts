import { Code, ConnectError } from "@connectrpc/connect";
import { UsageError } from "../../base/flags/flags.ts";
import { RegistryService } from "../../gen/machine/cloud/v1/registry_pb.ts";
import { splitItemId } from "../../registry/item_rules.ts";
import type { MetaModel } from "../../registry/module_archive/meta.ts";
import { type NewSchema, schemaPaths, schemasOf } from "../../registry/module_archive/schemas.ts";
import { textTable } from "../output/text_table.ts";
import { clientOf, type CommandContext, type Output } from "../run/command.ts";
import { readArchive } from "../upload/archive.ts";
import { registryOrganization } from "./registry_organization.ts";

/** The schemas that `meta.json` names or holds, checked. @throws {ArchiveError} */
export async function readSchemas(
  archive: string,
  models: readonly MetaModel[],
): Promise<NewSchema[]> {
  const paths = schemaPaths(models);
  const texts = paths.length > 0 ? (await readArchive(archive, paths)).texts : new Map();
  return schemasOf(archive, models, texts);
}

/**
 * Gives the registry the schemas of a version. A cloud of an older version is left without, which is said.
 *
 * @param replaces none in a new version take away those before
 */
export async function sendSchemas(
  context: CommandContext,
  { moduleId, version }: { readonly moduleId: string; readonly version: string },
  schemas: readonly NewSchema[],
  replaces: boolean,
): Promise<void> {
  if (schemas.length === 0 && !replaces) return;
  const registry = await clientOf(context, RegistryService);
  try {
    await registry.setModelSchemas({ moduleId, version, schemas: [...schemas] });
  } catch (error) {
    if (!(error instanceof ConnectError) || error.code !== Code.Unimplemented) throw error;
    if (schemas.length > 0) context.warn("this cloud keeps no schemas of models");
  }
}

/** Of an own module as well as of a public one of others. */
async function idOf(context: CommandContext, prefix: string, name: string): Promise<string> {
  try {
    const { publicNamespace, id } = await registryOrganization(context, prefix);
    return `${publicNamespace || id}:${name}`;
  } catch (error) {
    if (!(error instanceof UsageError) || prefix === "") throw error;
    return `${prefix}:${name}`;
  }
}

/** The models of a module, and which bring a schema. */
export async function listModels(name: string, context: CommandContext): Promise<Output> {
  const [prefix, rest] = splitItemId(name);
  if (rest === "") throw new UsageError(`${JSON.stringify(name)} is no ORG:NAME`);
  const moduleId = await idOf(context, prefix, rest);
  const registry = await clientOf(context, RegistryService);
  const { models } = await registry.listModels({ moduleIds: [moduleId] });
  const rows = models.map(({ api, model, schemaJson }) => [
    ...[model, api],
    schemaJson === "" ? "-" : "yes",
  ]);
  return {
    json: models.map(({ api, model, schemaJson }) => ({
      ...{ api, model },
      schema: schemaJson === "" ? null : JSON.parse(schemaJson) as unknown,
    })),
    text: rows.length === 0
      ? `${moduleId} has no models that you see\n`
      : textTable([["MODEL", "API", "SCHEMA"], ...rows], context.terminal.columns),
    ids: models.map(({ model }) => model),
  };
}
