import { attributes, boolean, number, optional } from "../../resources/graph/attributes.ts";
import type { PowerSensorService } from "../../../shared/gen/viam/component/powersensor/v1/powersensor_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

export interface FakePowerSensorAttributes {
  volts: number | undefined;
  amperes: number | undefined;
  watts: number | undefined;
  is_ac: boolean | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:power_sensor`. */
export const fakePowerSensorModel: Model<FakePowerSensorAttributes> = {
  api: "rdk:component:power_sensor",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: attributes<FakePowerSensorAttributes>({
    volts: optional(number("The voltage. Default 1.5.")),
    amperes: optional(number("The current. Default 2.2.")),
    watts: optional(number("The power. Default 9.8.")),
    is_ac: optional(boolean("Whether it is alternating current. Default true.")),
  }),
  construct({ attributes }): Driver<typeof PowerSensorService> {
    const { volts = 1.5, amperes = 2.2, watts = 9.8, is_ac: isAc = true } = attributes;
    return {
      getVoltage: () => ({ volts, isAc }),
      getCurrent: () => ({ amperes, isAc }),
      getPower: () => ({ watts }),
      doCommand: echo,
    };
  },
};
