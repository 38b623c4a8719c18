import { GenericService } from "../../shared/gen/viam/service/generic/v1/generic_pb.ts";
import { commonMethods } from "./driver_call.ts";
import { servedApi } from "./served_api.ts";

/** `rdk:service:generic`. */
export const genericServiceApi = servedApi(
  "rdk:service:generic",
  GenericService,
  (resources, api) => {
    const { doCommand, getStatus } = commonMethods(api, resources);
    return { doCommand, getStatus };
  },
);
