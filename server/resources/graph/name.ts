/**
 * Names of resources: `namespace:type:subtype/name`, for example `rdk:component:sensor/host`.
 * The part before the slash is the API (`rdk:component:sensor`).
 */
import type { ResourceName as ResourceNameMessage } from "../../../shared/gen/viam/common/v1/common_pb.ts";

/** Full name of a resource, as it stands in status, logs and `depends_on`. */
export function fullName(api: string, name: string): string {
  return `${api}/${name}`;
}

/** The name in the form the wire uses. */
export function toResourceName(api: string, name: string): ResourceNameMessage {
  const [namespace = "", type = "", subtype = ""] = api.split(":");
  return { $typeName: "viam.common.v1.ResourceName", namespace, type, subtype, name };
}
