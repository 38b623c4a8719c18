import { Code, ConnectError } from "@connectrpc/connect";
import type { Actor } from "../../accounts/access/caller.ts";
import { currentRecord } from "../../storage/audit/call_record.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { ReleaseAccess } from "../catalogue/release_access.ts";

const ACTOR: Actor = { type: "api-key", id: "release-source" };

/**
 * What a cloud's own process may do that follows a source: keep releases, and nothing with machines.
 * The audit log of the organisation that was made first says what it did.
 */
export function sourceAccess(queries: Queries): ReleaseAccess {
  return {
    isOperator: () => Promise.resolve(true),
    async operator() {
      const record = currentRecord();
      const first = await queries.selectFrom("organizations").select("id")
        .orderBy("created_at").orderBy("id").executeTakeFirst();
      if (record && first) {
        Object.assign(record, { actorType: "operator", actor: ACTOR.id, orgId: first.id });
      }
      return ACTOR;
    },
    part() {
      throw new ConnectError("a source is about releases only", Code.PermissionDenied);
    },
  };
}
