import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  ModelFramework,
  ModelType,
} from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";

/**
 * What an upload of a model or a training script says of itself, in the form of an item's details:
 * `{model_type: "object_detection"}` as `{modelType: "MODEL_TYPE_OBJECT_DETECTION"}`. What is not
 * known here is left out.
 */
export function uploadedDetails(metadata: JsonObject): JsonObject {
  const { model_type, model_framework, draft } = metadata;
  const modelType = enumName(ModelType, "MODEL_TYPE_", model_type);
  const modelFramework = enumName(ModelFramework, "MODEL_FRAMEWORK_", model_framework);
  return {
    ...(modelType && { modelType }),
    ...(modelFramework && { modelFramework }),
    ...(draft === true && { draft }),
  };
}

function enumName(
  values: Readonly<Record<string, string | number>>,
  prefix: string,
  text: JsonValue | undefined,
): string | undefined {
  if (typeof text !== "string") return undefined;
  const name = text.toUpperCase().replace(prefix, "");
  return typeof values[name] === "number" ? `${prefix}${name}` : undefined;
}
