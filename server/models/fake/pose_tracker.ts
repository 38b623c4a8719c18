import type { PoseTrackerService } from "../../../shared/gen/viam/component/posetracker/v1/pose_tracker_pb.ts";
import { attributes, listOf, optional, text } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** From one body to the next. mm. */
const SPACING_MM = 100;

export interface FakePoseTrackerAttributes {
  bodies: string[] | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:pose_tracker`: bodies in a row that stand still. */
export const fakePoseTrackerModel: Model<FakePoseTrackerAttributes> = {
  api: "rdk:component:pose_tracker",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: attributes<FakePoseTrackerAttributes>({
    bodies: optional(listOf(text("Name of a body."), "What it sees. Default: body1 and body2.")),
  }),
  construct({ attributes, name }): Driver<typeof PoseTrackerService> {
    const bodies = attributes.bodies ?? ["body1", "body2"];
    const poses = new Map(bodies.map((body, index) => [body, {
      referenceFrame: name,
      pose: { x: index * SPACING_MM, y: 0, z: 0, oX: 0, oY: 0, oZ: 1, theta: 0 },
    }]));
    return {
      getPoses({ bodyNames }) {
        const wanted = bodyNames.length > 0 ? bodyNames.filter((body) => poses.has(body)) : bodies;
        return { bodyPoses: Object.fromEntries(wanted.map((body) => [body, poses.get(body)!])) };
      },
      doCommand: echo,
    };
  },
};
