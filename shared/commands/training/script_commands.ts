import { Code, ConnectError } from "@connectrpc/connect";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import { ModelFramework } from "../../gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { PackageService, PackageType } from "../../gen/viam/app/packages/v1/packages_pb.ts";
import { AppService, type Organization, type RegistryItem } from "../../gen/viam/app/v1/app_pb.ts";
import { itemNameProblem, versionProblem } from "../../registry/item_rules.ts";
import { chooseOrganization } from "../choice/organization.ts";
import { VISIBILITIES, visibilityName, VISIBLE_TO } from "../modules/visibility.ts";
import { textTable } from "../output/text_table.ts";
import { isoTime, timeText } from "../output/times.ts";
import { clientOf, type CommandContext, type Output } from "../run/command.ts";
import { sendFile } from "../upload/send_file.ts";
import { openScript } from "./script_archive.ts";
import { MODEL_TYPES } from "./submit.ts";
import type { FRAMEWORK_NAMES, uploadFlags } from "./training_flags.ts";

type UploadFlags = FlagValues<typeof uploadFlags>;

/** What is reported of an upload. */
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
  context: CommandContext,
): Promise<UploadedScript> {
  const { name, version = String(context.clock.now().getTime()) } = flags;
  requireFine("--name", itemNameProblem(name));
  requireFine("--version", versionProblem(version, "ml_training"));
  await using script = await openScript(path, { name, version });
  const organization = await chooseOrganization(context);
  const itemId = await saveItem(context, organization, flags);
  const { size } = await Deno.stat(script.path);
  const client = await clientOf(context, PackageService);
  const info = {
    organizationId: organization.id,
    name,
    version,
    type: PackageType.ML_TRAINING,
    metadata: metadataOf(flags),
  };
  await sendFile(script.path, {
    first: { package: { case: "info" as const, value: info } },
    piece: (value) => ({ package: { case: "contents" as const, value } }),
    call: (messages, options) => client.createPackage(messages, options),
    what: "training script",
  }, context);
  return { script: itemId, version, size };
}

/** A line for each version, newest first. */
export async function listScripts(context: CommandContext): Promise<Output> {
  const { id: organizationId } = await chooseOrganization(context);
  const app = await clientOf(context, AppService);
  const { items } = await app.listRegistryItems({
    organizationId,
    types: [PackageType.ML_TRAINING],
  });
  const heading = ["SCRIPT", "VERSION", "VISIBLE TO", "UPLOADED"];
  return {
    json: items.map(jsonOf),
    text: items.length === 0
      ? `no training scripts; upload one with ${context.commandLine("training-script upload")}\n`
      : textTable([heading, ...items.flatMap(rowsOf)], context.terminal.columns),
    ids: items.map(({ itemId }) => itemId),
  };
}

/** Makes the item when it is new, and says of it what the flags say. @returns its id */
async function saveItem(
  context: CommandContext,
  organization: Organization,
  flags: UploadFlags,
): Promise<string> {
  const app = await clientOf(context, AppService);
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
  return versions.map(({ version, createdOn }) => [itemId, version, visible, timeText(createdOn)]);
}

function jsonOf({ itemId, description, visibility, metadata }: RegistryItem) {
  const versions = metadata.case === "mlTrainingMetadata" ? metadata.value.versions : [];
  return {
    ...{ script: itemId, description, visibility: visibilityName(visibility) },
    versions: versions.map(({ version, createdOn }) => ({
      version,
      created_on: isoTime(createdOn),
    })),
  };
}

function requireFine(flag: string, problem: string | undefined): void {
  if (problem) throw new UsageError(`${flag}: ${problem}`);
}
