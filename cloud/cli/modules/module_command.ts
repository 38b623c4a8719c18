import { createClient } from "@connectrpc/connect";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { FlagValues, ParsedCommand } from "../../../shared/base/flags/flags.ts";
import { AppService, type Module, Visibility } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { splitAtFirst } from "../../accounts/access/scope.ts";
import type { Random } from "../../storage/keys/random.ts";
import { withPlainFailures } from "../../local/connection/plain_failures.ts";
import { textTable } from "../../../shared/commands/output/text_table.ts";
import {
  type listFlags,
  type moduleCommands,
  type namespaceFlags,
  placeOf,
  type removeFlags,
} from "./module_flags.ts";
import { connectToRegistry } from "./registry_connection.ts";
import { uploadModule } from "./upload.ts";

interface Deps {
  readonly clock: Clock;
  readonly random: Random;
}

/** One of the commands about modules, as the command line asks for it. */
export type ModuleCommand = Extract<
  ParsedCommand<typeof moduleCommands>,
  { readonly command: keyof typeof moduleCommands }
>;

/** Does what the command line asks for and gives back what to print. */
export function runModuleCommand(parsed: ModuleCommand, deps: Deps): Promise<string> {
  return withPlainFailures(async () => {
    switch (parsed.command) {
      case "module upload": {
        const [file = ""] = parsed.arguments;
        return `${JSON.stringify(await uploadModule(parsed.values, file, deps))}\n`;
      }
      case "module list":
        return await list(parsed.values, deps);
      case "module remove":
        return await remove(parsed.values, deps);
      case "module namespace":
        return await setNamespace(parsed.values, parsed.arguments[0] ?? "", deps);
    }
  });
}

/** A line for each version, newest first. */
async function list(flags: FlagValues<typeof listFlags>, deps: Deps): Promise<string> {
  await using registry = await connectToRegistry(placeOf(flags, flags.org), deps);
  const app = createClient(AppService, registry.transport);
  const { modules } = await app.listModules({ organizationId: registry.organization.id });
  const rows = modules.flatMap(rowsOf);
  if (rows.length === 0) return "no modules; upload one with machine-cloud module upload\n";
  return textTable([["MODULE", "VERSION", "PLATFORMS", "VISIBLE TO", "UPLOADED"], ...rows]);
}

async function remove(flags: FlagValues<typeof removeFlags>, deps: Deps): Promise<string> {
  const [organization, name] = splitAtFirst(flags.name, ":");
  await using registry = await connectToRegistry(placeOf(flags, organization), deps);
  const itemId = `${registry.organization.publicNamespace || registry.organization.id}:${name}`;
  const { version } = flags;
  if (version === undefined) {
    await createClient(AppService, registry.transport).deleteRegistryItem({ itemId });
    return `removed ${itemId}\n`;
  }
  const id = `${registry.organization.id}/${name}`;
  const client = createClient(PackageService, registry.transport);
  await client.deletePackage({ id, version, type: PackageType.MODULE });
  return `removed ${itemId} ${version}\n`;
}

async function setNamespace(
  flags: FlagValues<typeof namespaceFlags>,
  namespace: string,
  deps: Deps,
): Promise<string> {
  await using registry = await connectToRegistry(placeOf(flags, flags.org), deps);
  await createClient(AppService, registry.transport).updateOrganizationNamespace({
    organizationId: registry.organization.id,
    newPublicNamespace: namespace,
  });
  return `modules of ${registry.organization.name} are ${namespace}:NAME now\n`;
}

function rowsOf({ moduleId, visibility, versions }: Module): string[][] {
  const visible = VISIBLE_TO[visibility];
  if (versions.length === 0) return [[moduleId, "-", "-", visible, "-"]];
  return versions.map(({ version, files }) => {
    const [file] = files;
    const uploaded = file?.uploadedAt ? timestampDate(file.uploadedAt).toJSON() : "-";
    const platforms = files.map(({ platform }) => platform).sort().join(", ");
    return [moduleId, version, platforms, visible, uploaded.slice(0, 19)];
  });
}

/** Who sees an item, as lists say it. */
export const VISIBLE_TO: Readonly<Record<Visibility, string>> = {
  [Visibility.UNSPECIFIED]: "-",
  [Visibility.PRIVATE]: "organisation",
  [Visibility.PUBLIC]: "everybody",
  [Visibility.PUBLIC_UNLISTED]: "who knows it",
};
