import { Code, ConnectError } from "@connectrpc/connect";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import { AppService } from "../../gen/viam/app/v1/app_pb.ts";
import { itemNameProblem, splitItemId, versionProblem } from "../../registry/item_rules.ts";
import { ArchiveError, type ModuleArchive } from "../../registry/module_archive/archive.ts";
import { checkedEntrypoint } from "../../registry/module_archive/entrypoint.ts";
import { describedBy, type ModuleMeta, parseMeta } from "../../registry/module_archive/meta.ts";
import { clientOf, type CommandContext } from "../run/command.ts";
import { readArchive } from "../upload/archive.ts";
import { sendFile } from "../upload/send_file.ts";
import type { uploadFlags } from "./module_flags.ts";
import { readSchemas, sendSchemas } from "./schemas.ts";
import { registryOrganization } from "./registry_organization.ts";
import { VISIBILITIES } from "./visibility.ts";

type UploadFlags = FlagValues<typeof uploadFlags>;

/** What is reported of an upload. */
export interface UploadedModule {
  readonly module_id: string;
  readonly version: string;
  readonly platform: string;
  readonly entrypoint: string;
  /** Bytes. */
  readonly size: number;
}

/** Checks an archive, makes its module when it is not there, and uploads a version of it. */
export async function uploadModule(
  flags: UploadFlags,
  file: string,
  context: CommandContext,
): Promise<UploadedModule> {
  const { version, platform } = flags;
  const problem = versionProblem(version, "module");
  if (problem) throw new UsageError(`--version: ${problem}`);
  const archive = await readArchive(file);
  const meta = archive.meta === undefined ? undefined : parseMeta(file, archive.meta);
  const { organization: wanted, name } = moduleName(flags, file, meta);
  const entrypoint = entrypointOf(flags, file, archive, meta);
  const schemas = await readSchemas(file, meta?.models ?? []);

  const organization = await registryOrganization(context, wanted);
  const app = await clientOf(context, AppService);
  const moduleId = `${organization.publicNamespace || organization.id}:${name}`;
  const has = await app.getModule({ moduleId }).then(() => true, (error) => {
    if (error instanceof ConnectError && error.code === Code.NotFound) return false;
    throw error;
  });
  if (!has) await app.createModule({ organizationId: organization.id, name });
  await app.updateModule({
    moduleId,
    entrypoint,
    ...describedBy(meta),
    ...(flags.visibility === undefined ? {} : { visibility: VISIBILITIES[flags.visibility] }),
  });
  await sendSchemas(context, { moduleId, version }, schemas, meta !== undefined);
  const { size } = await Deno.stat(file);
  const info = { moduleId, version, platform };
  await sendFile(file, {
    first: { moduleFile: { case: "moduleFileInfo" as const, value: info } },
    piece: (value) => ({ moduleFile: { case: "file" as const, value } }),
    call: (messages, options) => app.uploadModuleFile(messages, options),
    what: "archive",
  }, context);
  return { module_id: moduleId, version, platform, entrypoint, size };
}

/** The module's name and what its organisation is called; empty: the only one. */
function moduleName(
  { name }: UploadFlags,
  file: string,
  meta: ModuleMeta | undefined,
): { organization: string; name: string } {
  const given = name ?? meta?.moduleId;
  if (given === undefined) {
    throw new UsageError(
      `--name is missing: ${file} has no meta.json with a module_id; give --name ORG:NAME`,
    );
  }
  const [organization, rest] = splitItemId(given);
  const problem = itemNameProblem(rest);
  if (!problem) return { organization, name: rest };
  if (name !== undefined) throw new UsageError(`--name: ${problem}`);
  throw new ArchiveError(`${file}: module_id in meta.json: ${problem}`);
}

function entrypointOf(
  flags: UploadFlags,
  file: string,
  { files }: ModuleArchive,
  meta: ModuleMeta | undefined,
): string {
  const given = flags.entrypoint ?? meta?.entrypoint;
  if (given === undefined) {
    throw new UsageError(
      `--entrypoint is missing: ${file} has no meta.json with an entrypoint; give the path of the ` +
        "program in the archive that starts the module",
    );
  }
  const source = flags.entrypoint === undefined ? "entrypoint in meta.json" : "--entrypoint";
  return checkedEntrypoint(file, files, { path: given, source }, meta);
}
