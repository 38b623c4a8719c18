import { Code, ConnectError } from "@connectrpc/connect";
import type { GantryService } from "../../../shared/gen/viam/component/gantry/v1/gantry_pb.ts";
import { attributes, listOf, number, optional } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { type Joint, kinematics } from "./kinematics.ts";
import { TRIED_WITH } from "./tried_with.ts";

export interface FakeGantryAttributes {
  lengths_mm: number[] | undefined;
}

const AXES = [{ x: 1, y: 0, z: 0 }, { x: 0, y: 1, z: 0 }, { x: 0, y: 0, z: 1 }];

/** Model `rdk:builtin:fake` of `rdk:component:gantry`: is at once where it is sent. */
export const fakeGantryModel: Model<FakeGantryAttributes> = {
  api: "rdk:component:gantry",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: attributes<FakeGantryAttributes>({
    lengths_mm: optional(
      listOf(
        number("Length of an axis in mm.", { min: 0.001 }),
        "Lengths of the axes. Default: one axis of 1000 mm.",
      ),
    ),
  }),
  construct({ attributes, name }): Driver<typeof GantryService> {
    const lengths = attributes.lengths_mm?.length ? attributes.lengths_mm : [1_000];
    let positionsMm = lengths.map(() => 0);
    const joints: Joint[] = lengths.map((length, axis) => ({
      id: `axis_${axis}`,
      kind: "prismatic",
      axis: AXES[axis % AXES.length]!,
      min: 0,
      max: length,
      linkMm: { x: 0, y: 0, z: 0 },
    }));
    return {
      getPosition: () => ({ positionsMm }),
      getLengths: () => ({ lengthsMm: lengths }),
      moveToPosition(request) {
        positionsMm = checked(request.positionsMm, lengths);
        return {};
      },
      home() {
        positionsMm = lengths.map(() => 0);
        return { homed: true };
      },
      isMoving: () => ({ isMoving: false }),
      stop: () => {},
      getKinematics: () => kinematics(name, joints),
      doCommand: echo,
      getStatus: () => ({ positions_mm: positionsMm, lengths_mm: lengths, is_moving: false }),
    };
  },
};

function checked(positions: readonly number[], lengths: readonly number[]): number[] {
  if (positions.length !== lengths.length) {
    throw new ConnectError(
      `positions_mm has ${positions.length} values; the gantry has ${lengths.length} axes`,
      Code.InvalidArgument,
    );
  }
  positions.forEach((position, axis) => {
    if (position >= 0 && position <= lengths[axis]!) return;
    throw new ConnectError(
      `positions_mm[${axis}] is ${position}; the axis reaches from 0 to ${lengths[axis]} mm`,
      Code.InvalidArgument,
    );
  });
  return [...positions];
}
