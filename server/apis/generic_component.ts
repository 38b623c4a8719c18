import { GenericService } from "../../shared/gen/viam/component/generic/v1/generic_pb.ts";
import { commonMethods } from "./driver_call.ts";
import { servedApi } from "./served_api.ts";

/** `rdk:component:generic`. */
export const genericComponentApi = servedApi(
  "rdk:component:generic",
  GenericService,
  (resources, api) => commonMethods(api, resources),
);
