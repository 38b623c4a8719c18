import type { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import { attributes, number, optional } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import type { Vector } from "./kinematics.ts";
import { TRIED_WITH } from "./tried_with.ts";

const MM_PER_METER = 1_000;

interface Wanted {
  readonly linear?: Vector | undefined;
  readonly angular?: Vector | undefined;
}

export interface FakeBaseAttributes {
  width_mm: number | undefined;
  wheel_circumference_mm: number | undefined;
}

/**
 * Model `rdk:builtin:fake` of `rdk:component:base`. Distances are driven and angles turned at once;
 * power and velocity continue until it is stopped.
 */
export const fakeBaseModel: Model<FakeBaseAttributes> = {
  api: "rdk:component:base",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: attributes<FakeBaseAttributes>({
    width_mm: optional(number("From wheel to wheel in mm. Default 600.", { min: 0.001 })),
    wheel_circumference_mm: optional(number("Of a wheel in mm. Default 3000.", { min: 0.001 })),
  }),
  construct({ attributes }): Driver<typeof BaseService> {
    const { width_mm: widthMm = 600, wheel_circumference_mm: circumferenceMm = 3_000 } = attributes;
    let isMoving = false;
    const drive = ({ linear, angular }: Wanted) => {
      isMoving = [linear, angular].some((way) => way && (way.x || way.y || way.z));
      return {};
    };
    const arrive = () => {
      isMoving = false;
      return {};
    };
    return {
      moveStraight: arrive,
      spin: arrive,
      setPower: drive,
      setVelocity: drive,
      isMoving: () => ({ isMoving }),
      stop: () => void arrive(),
      getProperties: () => ({
        widthMeters: widthMm / MM_PER_METER,
        turningRadiusMeters: 0,
        wheelCircumferenceMeters: circumferenceMm / MM_PER_METER,
      }),
      doCommand: echo,
      getStatus: () => ({ is_moving: isMoving }),
    };
  },
};
