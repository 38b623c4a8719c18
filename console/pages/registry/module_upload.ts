import { Code, createClient, type Transport } from "@connectrpc/connect";
import { RegistryService } from "../../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";
import { splitItemId } from "../../../shared/registry/item_rules.ts";
import { ArchiveError } from "../../../shared/registry/module_archive/archive.ts";
import { checkedEntrypoint } from "../../../shared/registry/module_archive/entrypoint.ts";
import { describedBy, parseMeta } from "../../../shared/registry/module_archive/meta.ts";
import { schemaPaths, schemasOf } from "../../../shared/registry/module_archive/schemas.ts";
import { readTarGz } from "../../api/tar_reader.ts";

/**
 * Gives the registry what the archive says of its module, as `machine modules upload` does: models
 * with their schemas, program to start, description. One without `meta.json` changes nothing.
 *
 * @param moduleId `namespace:name`
 * @param version the one that the archive becomes
 * @throws {ConnectError} for an archive that is not of this module or that no machine could start
 */
export async function describeModule(
  ...given: Parameters<typeof describe>
): Promise<void> {
  try {
    await describe(...given);
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    throw refusal("META_WRONG", {}, error.message, Code.InvalidArgument, error);
  }
}

async function describe(
  transport: Transport,
  moduleId: string,
  version: string,
  file: File,
): Promise<void> {
  const { files, meta: text } = await readTarGz(file);
  const meta = text === undefined ? undefined : parseMeta(file.name, text);
  const [, name] = splitItemId(moduleId);
  const [, named = ""] = meta?.moduleId === undefined ? [] : splitItemId(meta.moduleId);
  if (named !== "" && named !== name) {
    throw refusal(
      "ARCHIVE_OF_OTHER",
      { name: meta?.moduleId ?? "" },
      `${file.name} is an archive of ${meta?.moduleId}, as its meta.json says, not of ${moduleId}`,
      Code.InvalidArgument,
    );
  }
  const app = createClient(AppService, transport);
  const { module } = await app.getModule({ moduleId });
  const given = meta?.entrypoint ?? module?.entrypoint ?? "";
  if (given === "") {
    throw refusal(
      "ENTRYPOINT_NEEDED",
      {},
      `${file.name} has no meta.json with an entrypoint, so nobody knows which of its programs ` +
        "starts the module; add one, or give it: machine modules upload --entrypoint PATH",
      Code.InvalidArgument,
    );
  }
  const isOwn = meta?.entrypoint !== undefined;
  const source = isOwn ? "entrypoint in meta.json" : "the module's entrypoint";
  const entrypoint = checkedEntrypoint(file.name, files, { path: given, source }, meta);
  if (meta === undefined) return;
  const paths = schemaPaths(meta.models);
  const texts = paths.length > 0 ? (await readTarGz(file, paths)).texts : new Map<string, string>();
  const schemas = schemasOf(file.name, meta.models, texts);
  await app.updateModule({ moduleId, entrypoint, ...describedBy(meta) });
  await createClient(RegistryService, transport).setModelSchemas({
    ...{ moduleId, version, schemas },
  });
}
