import type { MessageShape } from "@bufbuild/protobuf";
import type { FlagValues } from "../../base/flags/flags.ts";
import { PackageService, PackageType } from "../../gen/viam/app/packages/v1/packages_pb.ts";
import { AppService, type Module, type ModuleSchema } from "../../gen/viam/app/v1/app_pb.ts";
import { splitItemId } from "../../registry/item_rules.ts";
import { chooseOrganization } from "../choice/organization.ts";
import { sizeText } from "../output/amounts.ts";
import { textTable } from "../output/text_table.ts";
import { isoTime, timeText } from "../output/times.ts";
import {
  clientOf,
  type CommandContext,
  type CommandOf,
  done,
  type Output,
} from "../run/command.ts";
import type { moduleCommands, removeFlags } from "./module_flags.ts";
import { listModels } from "./schemas.ts";
import { registryOrganization } from "./registry_organization.ts";
import { uploadModule } from "./upload.ts";
import { visibilityName, VISIBLE_TO } from "./visibility.ts";

/** One of the commands about modules, as the command line requests it. */
export type ModuleCommand = CommandOf<typeof moduleCommands>;

/** Does what the command line requests. */
export async function runModuleCommand(
  parsed: ModuleCommand,
  context: CommandContext,
): Promise<Output> {
  const [argument = ""] = parsed.arguments;
  switch (parsed.command) {
    case "module upload": {
      const json = await uploadModule(parsed.values, argument, context);
      const { module_id, version, platform, size } = json;
      const text = `uploaded ${module_id} ${version} for ${platform}, ${sizeText(size)}\n`;
      return { json, text, ids: [module_id] };
    }
    case "module list":
      return await list(context);
    case "module models":
      return await listModels(argument, context);
    case "module remove":
      return await remove(parsed.values, context);
    case "module namespace": {
      const { id, name } = await chooseOrganization(context);
      const app = await clientOf(context, AppService);
      await app.updateOrganizationNamespace({ organizationId: id, newPublicNamespace: argument });
      return done({ id, namespace: argument }, `modules of ${name} are ${argument}:NAME now`);
    }
  }
}

/** A line for each version, newest first. */
async function list(context: CommandContext): Promise<Output> {
  const { id: organizationId } = await chooseOrganization(context);
  const { modules } = await (await clientOf(context, AppService)).listModules({ organizationId });
  const rows = modules.flatMap(rowsOf);
  const heading = ["MODULE", "VERSION", "PLATFORMS", "VISIBLE TO", "UPLOADED"];
  return {
    json: modules.map(jsonOf),
    text: rows.length === 0
      ? `no modules; upload one with ${context.commandLine("module upload")}\n`
      : textTable([heading, ...rows], context.terminal.columns),
    ids: modules.map(({ moduleId }) => moduleId),
  };
}

async function remove(
  flags: FlagValues<typeof removeFlags>,
  context: CommandContext,
): Promise<Output> {
  const [prefix, name] = splitItemId(flags.name);
  const organization = await registryOrganization(context, prefix);
  const itemId = `${organization.publicNamespace || organization.id}:${name}`;
  const { version } = flags;
  if (version === undefined) {
    await (await clientOf(context, AppService)).deleteRegistryItem({ itemId });
    return done({ id: itemId }, `removed ${itemId}`);
  }
  const packages = await clientOf(context, PackageService);
  const id = `${organization.id}/${name}`;
  await packages.deletePackage({ id, version, type: PackageType.MODULE });
  return done({ id: itemId, version }, `removed ${itemId} ${version}`);
}

function rowsOf({ moduleId, visibility, versions }: Module): string[][] {
  const visible = VISIBLE_TO[visibility];
  if (versions.length === 0) return [[moduleId, "-", "-", visible, "-"]];
  return versions.map(({ version, files }) => {
    const platforms = files.map(({ platform }) => platform).sort().join(", ");
    return [moduleId, version, platforms, visible, timeText(files[0]?.uploadedAt)];
  });
}

function jsonOf(module: MessageShape<typeof ModuleSchema>) {
  return {
    module_id: module.moduleId,
    description: module.description,
    visibility: visibilityName(module.visibility),
    models: module.models.map(({ api, model }) => ({ api, model })),
    versions: module.versions.map(({ version, files }) => ({
      version,
      files: files.map(({ platform, uploadedAt }) => ({
        platform,
        uploaded_at: isoTime(uploadedAt),
      })),
    })),
  };
}
