import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { GripperService } from "../../../shared/gen/viam/component/gripper/v1/gripper_pb.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { type Joint, kinematics } from "./kinematics.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** How far the jaw opens. mm. */
const WIDEST_MM = 100;

const JAW: Joint = {
  id: "jaw",
  kind: "prismatic",
  axis: { x: 0, y: 1, z: 0 },
  min: 0,
  max: WIDEST_MM,
  linkMm: { x: 0, y: 0, z: 0 },
};

/** Model `rdk:builtin:fake` of `rdk:component:gripper`: one jaw, and nothing to hold. */
export const fakeGripperModel: Model<JsonObject> = {
  api: "rdk:component:gripper",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: anyAttributes,
  construct({ name }): Driver<typeof GripperService> {
    let openMm = WIDEST_MM;
    return {
      open() {
        openMm = WIDEST_MM;
        return {};
      },
      grab() {
        openMm = 0;
        return { success: false };
      },
      isHoldingSomething: () => ({ isHoldingSomething: false }),
      getCurrentInputs: () => ({ values: [openMm] }),
      goToInputs({ values }) {
        const [wanted] = values;
        if (values.length !== 1 || wanted === undefined || !(wanted >= 0 && wanted <= WIDEST_MM)) {
          throw new ConnectError(
            `values is [${values.join(", ")}]; the gripper takes one, from 0 to ${WIDEST_MM} mm`,
            Code.InvalidArgument,
          );
        }
        openMm = wanted;
        return {};
      },
      getKinematics: () => kinematics(name, [JAW]),
      isMoving: () => ({ isMoving: false }),
      stop: () => {},
      doCommand: echo,
      getStatus: () => ({ open_mm: openMm, is_moving: false }),
    };
  },
};
