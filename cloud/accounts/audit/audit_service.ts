import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AuditEntrySchema,
  type AuditService,
} from "../../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import type { Callers } from "../access/callers.ts";
import type { AuditLog } from "./audit_log.ts";

/** The audit log, for owners of an organisation. */
export function auditService(
  { callers, audit }: { readonly callers: Pick<Callers, "scope">; readonly audit: AuditLog },
): ServiceImpl<typeof AuditService> {
  return {
    async listAuditEntries(request, context) {
      const scope = await callers.scope(context);
      const { id: orgId } = await scope.organization(request.organizationId, "manage");
      const { actor, action, start, end } = request;
      const { rows, next } = await audit.page({
        ...{ orgId, actor, action },
        startMs: start && timestampMs(start),
        endMs: end && timestampMs(end),
      }, { size: request.pageSize, token: request.pageToken });
      return {
        entries: rows.map((row) =>
          create(AuditEntrySchema, {
            id: BigInt(row.seq),
            time: timestampFromMs(row.at),
            actorType: row.actor_type,
            actor: row.actor,
            action: row.action,
            target: row.target,
            address: row.address,
            client: row.client,
          })
        ),
        nextPageToken: next,
      };
    },
  };
}
