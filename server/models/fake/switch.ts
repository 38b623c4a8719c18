import { Code, ConnectError } from "@connectrpc/connect";
import type { SwitchService } from "../../../shared/gen/viam/component/switch/v1/switch_pb.ts";
import {
  AttributeError,
  attributes,
  integer,
  listOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

export interface FakeSwitchAttributes {
  position_count: number | undefined;
  labels: string[] | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:switch`: keeps the position it is sent. */
export const fakeSwitchModel: Model<FakeSwitchAttributes> = {
  api: "rdk:component:switch",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: attributes<FakeSwitchAttributes>({
    position_count: optional(
      integer("How many positions it has. Default: as many as labels, else 2.", {
        min: 1,
        max: 1_000,
      }),
    ),
    labels: optional(
      listOf(text("Name of a position."), "Names of the positions. Default: they have none."),
    ),
  }),
  construct({ attributes }): Driver<typeof SwitchService> {
    const labels = attributes.labels ?? [];
    const count = attributes.position_count ?? (labels.length || 2);
    if (labels.length > 0 && labels.length !== count) {
      throw new AttributeError(
        "attributes.labels",
        `${labels.length} labels`,
        `${count}, one for each position of position_count`,
      );
    }
    let position = 0;
    return {
      setPosition(request) {
        if (request.position >= count) {
          throw new ConnectError(
            `position ${request.position} is out of range; the switch has 0 to ${count - 1}`,
            Code.InvalidArgument,
          );
        }
        position = request.position;
        return {};
      },
      getPosition: () => ({ position }),
      getNumberOfPositions: () => ({ numberOfPositions: count, labels }),
      doCommand: echo,
      getStatus: () => ({ position }),
    };
  },
};
