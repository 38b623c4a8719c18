import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { ServoService } from "../../../shared/gen/viam/component/servo/v1/servo_pb.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** The widest angle of a servo's interface. Degrees. */
const WIDEST_DEG = 180;

/** Model `rdk:builtin:fake` of `rdk:component:servo`: keeps the angle it is sent. */
export const fakeServoModel: Model<JsonObject> = {
  api: "rdk:component:servo",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: anyAttributes,
  construct(): Driver<typeof ServoService> {
    let positionDeg = 0;
    return {
      move({ angleDeg }) {
        if (angleDeg > WIDEST_DEG) {
          throw new ConnectError(
            `angle_deg is ${angleDeg}; a servo turns from 0 to ${WIDEST_DEG} degrees`,
            Code.InvalidArgument,
          );
        }
        positionDeg = angleDeg;
        return {};
      },
      getPosition: () => ({ positionDeg }),
      isMoving: () => ({ isMoving: false }),
      stop: () => {},
      doCommand: echo,
      getStatus: () => ({ position_deg: positionDeg, is_moving: false }),
    };
  },
};
