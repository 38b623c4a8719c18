import { create } from "@bufbuild/protobuf";
import {
  AuthenticationType,
  type AuthenticatorInfo,
  AuthenticatorInfoSchema,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ActorType } from "../../storage/database/schema.ts";

const AUTHENTICATION_TYPES: Readonly<Record<ActorType, AuthenticationType>> = {
  "api-key": AuthenticationType.API_KEY,
  "robot-secret": AuthenticationType.ROBOT_PART_SECRET,
  "robot-location-secret": AuthenticationType.LOCATION_SECRET,
  "user": AuthenticationType.WEB_OAUTH,
};

/** Who saved something, as histories show it. */
export function toEditedBy(
  save: { readonly saved_by_type: ActorType; readonly saved_by: string },
  isDeactivated: boolean,
): AuthenticatorInfo {
  return create(AuthenticatorInfoSchema, {
    type: AUTHENTICATION_TYPES[save.saved_by_type],
    value: save.saved_by,
    isDeactivated,
  });
}

/** Keys of an organisation that are deleted and that history still names. */
export async function deletedKeys(queries: Queries, orgId: string): Promise<Set<string>> {
  const rows = await queries.selectFrom("api_keys").select("id")
    .where("org_id", "=", orgId).where("deleted_at", "is not", null).execute();
  return new Set(rows.map((row) => row.id));
}
