import type { ServiceImpl } from "@connectrpc/connect";
import type { FleetService } from "../../../shared/gen/machine/cloud/v1/fleet_pb.ts";
import { pageSize, parseTextToken, textToken } from "../../api/paging/paging.ts";
import type { MachineMethodsOptions } from "./machine_methods.ts";
import { type MachinePosition, positionsOf, summariesOf } from "./machine_summaries.ts";

const PAGE = 100;
const LARGEST_PAGE = 1_000;

/** `machine.cloud.v1.FleetService`: the machines of an organisation, a page at a time. */
export function fleetService(
  options: Pick<MachineMethodsOptions, "callers" | "queries" | "presence" | "clock">,
): ServiceImpl<typeof FleetService> {
  return {
    async listMachines({ pageLimit, pageToken, ...wanted }, context) {
      const scope = await options.callers.scope(context);
      const size = pageSize(pageLimit, PAGE, LARGEST_PAGE);
      const after = positionOf(parseTextToken(pageToken, 4));
      const found = await positionsOf(scope, wanted, { limit: size + 1, after });
      const page = found.slice(0, size);
      const last = page.at(-1);
      return {
        locations: await summariesOf(scope, page, options),
        nextPageToken: found.length > size && last
          ? textToken(last.location_name, last.location_id, last.name, last.id)
          : "",
      };
    },
  };
}

function positionOf(token: readonly string[] | undefined): MachinePosition | undefined {
  if (!token) return undefined;
  const [location_name = "", location_id = "", name = "", id = ""] = token;
  return { location_name, location_id, name, id };
}
