import type { JsonObject } from "@bufbuild/protobuf";
import type { DiscoveryService } from "../../../shared/gen/viam/service/discovery/v1/discovery_pb.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

const FOUND = [
  { name: "fake1", type: "movement_sensor" },
  { name: "fake2", type: "camera" },
];

/** Model `rdk:builtin:fake` of `rdk:service:discovery`: always finds the same two components. */
export const fakeDiscoveryModel: Model<JsonObject> = {
  api: "rdk:service:discovery",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: anyAttributes,
  construct: (): Driver<typeof DiscoveryService> => ({
    discoverResources: () => ({
      discoveries: FOUND.map(({ name, type }) => ({
        name,
        namespace: "rdk",
        type,
        api: `rdk:component:${type}`,
        model: "rdk:builtin:fake",
        attributes: {},
      })),
    }),
    doCommand: echo,
  }),
};
