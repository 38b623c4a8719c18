import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CaptureMetadataSchema } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { parseObject, parseTexts } from "./stored_json.ts";
import { parametersFromJson } from "./parameters.ts";
import type { NamedSource } from "./filters.ts";

/** Where something was captured, in the protocol's form. */
export function captureMetadata(
  source: Omit<NamedSource, "id"> | undefined,
  { tags, parameters }: { tags: string; parameters: string },
  mimeType: string,
): MessageInitShape<typeof CaptureMetadataSchema> {
  return {
    organizationId: source?.org_id ?? "",
    locationId: source?.location_id ?? "",
    robotName: source?.machine_name ?? "",
    robotId: source?.machine_id ?? "",
    partName: source?.part_name ?? "",
    partId: source?.part_id ?? "",
    componentType: source?.component_type ?? "",
    componentName: source?.component_name ?? "",
    methodName: source?.method_name ?? "",
    methodParameters: parametersFromJson(parseObject(parameters)),
    tags: parseTexts(tags),
    mimeType,
  };
}
