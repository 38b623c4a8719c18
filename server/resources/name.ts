/**
 * Names of resources: `namespace:type:subtype/name`, for example `rdk:component:sensor/host`.
 * The part before the slash is the API (`rdk:component:sensor`).
 */
import type { ResourceName as ResourceNameMessage } from "../../shared/gen/viam/common/v1/common_pb.ts";

/** The two names that stand for the frame system and are never resources of the graph. */
const FRAME_SYSTEM_NAMES = new Set(["framesystem", "$framesystem"]);

/** Full name of a resource, as it stands in status, logs and `depends_on`. */
export function fullName(api: string, name: string): string {
  return `${api}/${name}`;
}

/** True for the entries of `depends_on` that name the frame system instead of a resource. */
export function isFrameSystem(name: string): boolean {
  return FRAME_SYSTEM_NAMES.has(name);
}

/** The name in the form the wire uses. */
export function toResourceName(api: string, name: string): ResourceNameMessage {
  const [namespace = "", type = "", subtype = ""] = api.split(":");
  return { $typeName: "viam.common.v1.ResourceName", namespace, type, subtype, name };
}
