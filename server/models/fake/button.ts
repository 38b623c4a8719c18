import type { JsonObject } from "@bufbuild/protobuf";
import type { ButtonService } from "../../../shared/gen/viam/component/button/v1/button_pb.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Model `rdk:builtin:fake` of `rdk:component:button`: writes each push to the log. */
export const fakeButtonModel: Model<JsonObject> = {
  api: "rdk:component:button",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: anyAttributes,
  construct({ log }): Driver<typeof ButtonService> {
    let pushes = 0;
    return {
      push() {
        pushes++;
        log.info("pushed");
        return {};
      },
      doCommand: echo,
      getStatus: () => ({ pushes }),
    };
  },
};
