import type { JsonObject } from "@bufbuild/protobuf";
import type { GetReadingsResponse } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { readingsOf } from "../../resources/readings/readings_of.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import type { ResourceIndex } from "../../resources/graph/resource_index.ts";
import { driverError, notSupported } from "./driver_call.ts";
import { toValueMap } from "./values.ts";

/**
 * GetReadings of the components that can be read. It is the most called method of a machine and is
 * kept lean.
 */
export function getReadingsMethod(resources: ResourceIndex, api: string) {
  return {
    async getReadings(
      { name, extra }: { name: string; extra?: JsonObject | undefined },
      call: CallContext,
    ): Promise<GetReadingsResponse> {
      const node = resources.acquire(api, name);
      try {
        const readings = await readingsOf(api, name, node.instance!, extra, call);
        if (!readings) throw notSupported(api, name, "GetReadings");
        return {
          $typeName: "viam.common.v1.GetReadingsResponse",
          readings: toValueMap(readings),
        };
      } catch (error) {
        throw driverError(error);
      } finally {
        resources.release(node);
      }
    },
  };
}
