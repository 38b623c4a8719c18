import { Code, ConnectError } from "@connectrpc/connect";
import {
  ModelFramework,
  ModelType,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { isPrefix, notFound, type Scope, splitAtFirst } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { LATEST } from "./checks.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** A version of a training script in the registry, and what it says that it trains. */
export interface KnownScript {
  readonly version: string;
  /** UNSPECIFIED when it does not say. */
  readonly modelType: ModelType;
  /** UNSPECIFIED when it does not say. */
  readonly modelFramework: ModelFramework;
}

/** Versions listed in an error. */
const TOLD_VERSIONS = 20;

/**
 * Finds a script that the caller's organisation may use: its own, and public ones of others.
 * Throws NOT_FOUND that says whether the script is missing or its version.
 * @param version `latest`: the one that was uploaded last
 */
export async function findScript(
  scope: Scope,
  queries: Queries,
  id: string,
  version: string,
): Promise<KnownScript> {
  const [prefix, name] = splitAtFirst(id, ":");
  const item = await scope.registryItems()
    .select(["registry_items.id", "registry_items.type", "registry_items.details"])
    .where("registry_items.name", "=", name).where(isPrefix(prefix)).executeTakeFirst();
  if (!item) throw notFound("training script", id);
  if (item.type !== "ml_training") {
    const message = `no training script with id ${JSON.stringify(id)}: it is of type ${item.type}`;
    throw new ConnectError(message, Code.NotFound);
  }
  const files = await queries.selectFrom("package_files").select(["version", "metadata"])
    .where("item_id", "=", item.id).orderBy("created_at", "desc").orderBy("id").execute();
  const file = version === LATEST ? files[0] : files.find((file) => file.version === version);
  if (!file) {
    const versions = [...new Set(files.map((file) => file.version))];
    const known = versions.slice(0, TOLD_VERSIONS).join(", ") || "none yet; upload one";
    throw refusal(
      "VERSION_UNKNOWN",
      { version },
      `registry_item_version: ${id} has no version ${JSON.stringify(version)}; there are: ${known}`,
      Code.NotFound,
    );
  }
  // What the item says now counts more than what an upload said of itself.
  const uploaded = JSON.parse(file.metadata) as Record<string, unknown>;
  const details = JSON.parse(item.details) as Record<string, unknown>;
  const modelType = details.modelType ?? uploaded.model_type;
  const modelFramework = details.modelFramework ?? uploaded.model_framework;
  return {
    version: file.version,
    modelType: numberOf(ModelType, "MODEL_TYPE_", modelType),
    modelFramework: numberOf(ModelFramework, "MODEL_FRAMEWORK_", modelFramework),
  };
}

/** Reads `MODEL_TYPE_OBJECT_DETECTION` and `object_detection`; 0 for anything else. */
function numberOf(
  values: Readonly<Record<string, string | number>>,
  prefix: string,
  text: unknown,
): number {
  if (typeof text !== "string") return 0;
  const number = values[text.toUpperCase().replace(prefix, "")];
  return typeof number === "number" ? number : 0;
}
