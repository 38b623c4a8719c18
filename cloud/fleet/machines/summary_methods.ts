import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { MachineMethodsOptions } from "./machine_methods.ts";
import { positionsOf, summariesOf } from "./machine_summaries.ts";

const DEFAULT_LIMIT = 100;
const LARGEST_LIMIT = 10_000;

/** The call of AppService that shows the whole fleet at once. */
export function summaryMethods(
  options: MachineMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    async listMachineSummaries({ organizationId, fragmentIds, locationIds, limit }, context) {
      const scope = await options.callers.scope(context);
      const most = limit ?? DEFAULT_LIMIT;
      if (most < 1 || most > LARGEST_LIMIT) {
        const message = `limit: ${most} is not from 1 to ${LARGEST_LIMIT}`;
        throw new ConnectError(message, Code.InvalidArgument);
      }
      const wanted = { organizationId, fragmentIds, locationIds };
      const rows = await positionsOf(scope, wanted, { limit: most });
      return { locationSummaries: await summariesOf(scope, rows, options) };
    },
  };
}
