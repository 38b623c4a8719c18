/** An entry of the configuration in the form in which modules get it. */
import { create, type JsonObject } from "@bufbuild/protobuf";
import { toFrame } from "../../../shared/config/proto/frames.ts";
import { toStruct } from "../../../shared/config/proto/values.ts";
import type { ResourceConfig } from "../../../shared/config/resources.ts";
import {
  type ComponentConfig,
  ComponentConfigSchema,
} from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";

/** The message of AddResource and ValidateConfig. Services travel in it as components do. */
export function resourceConfig(spec: ResourceSpec): ComponentConfig {
  const [namespace = "", , subtype = ""] = spec.api.split(":");
  // The configuration was checked before it came here.
  const extra = (spec.extra ?? {}) as Pick<
    ResourceConfig,
    "frame" | "log_configuration" | "service_configs"
  >;
  const frame = toFrame(extra.frame);
  const level = extra.log_configuration?.level;
  return create(ComponentConfigSchema, {
    name: spec.name,
    namespace,
    type: subtype,
    api: spec.api,
    model: spec.model,
    attributes: spec.attributes,
    dependsOn: [...spec.dependsOn],
    serviceConfigs: (extra.service_configs ?? []).map(({ type, attributes }) => ({
      type,
      attributes: toStruct(attributes) ?? ({} as JsonObject),
    })),
    ...(frame && { frame }),
    ...(level && { logConfiguration: { level } }),
  });
}
