import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { type FlagValues, UsageError } from "../../../shared/base/flags/flags.ts";
import {
  PackageService,
  PackageType,
} from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { ModelFramework } from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { AppService, type RegistryItem } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Random } from "../../storage/keys/random.ts";
import { connectToRegistry, type RegistryConnection } from "../modules/registry_connection.ts";
import { placeOf } from "../modules/module_flags.ts";
import { VISIBLE_TO } from "../modules/module_command.ts";
import { sendFile } from "../modules/send_file.ts";
import { VISIBILITIES } from "../modules/upload.ts";
import { itemNameProblem } from "../../registry/packages/names.ts";
import { versionProblem } from "../../registry/packages/versions.ts";
import { textTable } from "../../../shared/commands/output/text_table.ts";
import { openScript } from "./script_archive.ts";
import { MODEL_TYPES } from "./submit.ts";
import type { FRAMEWORK_NAMES, scriptFlags, uploadFlags } from "./training_flags.ts";

type UploadFlags = FlagValues<typeof uploadFlags>;

interface Deps {
  readonly clock: Clock;
  readonly random: Random;
}

/** What is told of an upload. */
export interface UploadedScript {
  /** What jobs name it by. */
  readonly script: string;
  readonly version: string;
  /** Bytes. */
  readonly size: number;
}

const FRAMEWORKS: Readonly<Record<typeof FRAMEWORK_NAMES[number], ModelFramework>> = {
  tflite: ModelFramework.TFLITE,
  tensorflow: ModelFramework.TENSORFLOW,
  pytorch: ModelFramework.PYTORCH,
  onnx: ModelFramework.ONNX,
};

/** Checks a script, makes its item when it is not there, and uploads a version of it. */
export async function uploadScript(
  flags: UploadFlags,
  path: string,
  deps: Deps,
): Promise<UploadedScript> {
  const { name, version = String(deps.clock.now().getTime()) } = flags;
  requireFine("--name", itemNameProblem(name));
  requireFine("--version", versionProblem(version, "ml_training"));
  await using script = await openScript(path, { name, version });
  await using registry = await connectToRegistry(
    placeOf(flags, flags.org, flags["package-limit"]),
    deps,
  );
  const itemId = await saveItem(registry, flags);
  const { size } = await Deno.stat(script.path);
  const client = createClient(PackageService, registry.transport);
  const info = {
    organizationId: registry.organization.id,
    name,
    version,
    type: PackageType.ML_TRAINING,
    metadata: metadataOf(flags),
  };
  await sendFile(script.path, {
    first: { package: { case: "info" as const, value: info } },
    piece: (value) => ({ package: { case: "contents" as const, value } }),
    call: (messages, options) => client.createPackage(messages, options),
  });
  return { script: itemId, version, size };
}

/** A line for each version, newest first. */
export async function listScripts(
  flags: FlagValues<typeof scriptFlags>,
  deps: Deps,
): Promise<string> {
  await using registry = await connectToRegistry(placeOf(flags, flags.org), deps);
  const app = createClient(AppService, registry.transport);
  const { items } = await app.listRegistryItems({
    organizationId: registry.organization.id,
    types: [PackageType.ML_TRAINING],
  });
  if (items.length === 0) {
    return "no training scripts; upload one with machine-cloud training-script upload\n";
  }
  return textTable([["SCRIPT", "VERSION", "VISIBLE TO", "UPLOADED"], ...items.flatMap(rowsOf)]);
}

/** Makes the item when it is new, and says of it what the flags say. @returns its id */
async function saveItem(
  { transport, organization }: RegistryConnection,
  flags: UploadFlags,
): Promise<string> {
  const app = createClient(AppService, transport);
  const type = PackageType.ML_TRAINING;
  const { name, description = "", url, visibility } = flags;
  const itemId = `${organization.publicNamespace || organization.id}:${name}`;
  const item = await app.getRegistryItem({ itemId }).then(({ item }) => item, (error) => {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  });
  if (item && item.type !== type) {
    throw new Error(
      `${itemId} is no training script but a package of another type; take another --name`,
    );
  }
  if (!item) await app.createRegistryItem({ organizationId: organization.id, name, type });
  const before = item?.metadata.case === "mlTrainingMetadata" ? item.metadata.value : undefined;
  await app.updateRegistryItem({
    itemId,
    type,
    description,
    ...(url === undefined ? {} : { url }),
    ...(visibility === undefined ? {} : { visibility: VISIBILITIES[visibility] }),
    metadata: {
      case: "updateMlTrainingMetadata",
      value: {
        modelType: flags.type ? MODEL_TYPES[flags.type] : before?.modelType ?? 0,
        modelFramework: flags.framework ? FRAMEWORKS[flags.framework] : before?.modelFramework ?? 0,
        draft: flags.draft,
      },
    },
  });
  return itemId;
}

/** What other programs of the family read from the package itself. */
function metadataOf({ type, framework, draft, url, visibility }: UploadFlags) {
  const typeNames = {
    "single-label": "single_label_classification",
    "multi-label": "multi_label_classification",
    "object-detection": "object_detection",
  };
  return {
    draft,
    ...(type === undefined ? {} : { model_type: typeNames[type] }),
    ...(framework === undefined ? {} : { model_framework: framework }),
    ...(url === undefined ? {} : { url }),
    ...(visibility === undefined ? {} : { visibility }),
  };
}

function rowsOf({ itemId, visibility, metadata }: RegistryItem): string[][] {
  const visible = VISIBLE_TO[visibility];
  const versions = metadata.case === "mlTrainingMetadata" ? metadata.value.versions : [];
  if (versions.length === 0) return [[itemId, "-", visible, "-"]];
  return versions.map(({ version, createdOn }) => {
    const uploaded = createdOn ? timestampDate(createdOn).toJSON() : "-";
    return [itemId, version, visible, uploaded.slice(0, 19)];
  });
}

function requireFine(flag: string, problem: string | undefined): void {
  if (problem) throw new UsageError(`${flag}: ${problem}`);
}
