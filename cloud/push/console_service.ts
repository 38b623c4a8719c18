import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type ConsoleService,
  GetPartLiveStatusResponseSchema,
} from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { Callers } from "../access/callers.ts";
import type { Presence } from "../presence/presence.ts";
import type { LiveStatus } from "./live_status.ts";

export interface ConsoleServiceOptions {
  readonly callers: Callers;
  readonly presence: Presence;
  readonly live: LiveStatus;
}

/** `machine.cloud.v1.ConsoleService`: what the console asks beyond the public API. */
export function consoleService(
  { callers, presence, live }: ConsoleServiceOptions,
): ServiceImpl<typeof ConsoleService> {
  return {
    async getPartLiveStatus({ partId }, context) {
      const part = await (await callers.scope(context)).part(partId, "see");
      const { state, lastAccess, facts } = presence.of(part.id);
      const report = live.look(part.id);
      const response = create(GetPartLiveStatusResponseSchema, {
        online: state === "online",
        configError: report?.configError ?? "",
        readings: [...report?.readings ?? []],
        serverVersion: facts.serverVersion ?? "",
        agentVersion: facts.agentVersion ?? "",
      });
      if (lastAccess) response.lastSeen = timestampFromDate(lastAccess);
      if (report) response.reportedAt = timestampFromDate(report.reportedAt);
      if (report?.status) response.status = report.status;
      return response;
    },
  };
}
