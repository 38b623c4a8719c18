import { create } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { FrameSystemConfigSchema } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { framesHere } from "./remote_frames.ts";

const config = (referenceFrame: string, parent: string) =>
  create(FrameSystemConfigSchema, {
    frame: { referenceFrame, poseInObserverFrame: { referenceFrame: parent, pose: { x: 3 } } },
  });

Deno.test("framesHere() names frames like resources, and the remote's world after the remote", () => {
  const frames = framesHere(
    [config("arm", "world"), config("hand", "arm_origin"), config("far:tip", "far_world")],
    { name: "r", prefix: "p-" },
  );
  assert.deepEqual(
    frames.map(({ frame }) => [
      frame?.referenceFrame,
      frame?.poseInObserverFrame?.referenceFrame,
      frame?.poseInObserverFrame?.pose?.x,
    ]),
    [
      ["r:p-arm", "r_world", 3],
      ["r:p-hand", "r:p-arm_origin", 3],
      ["r:far:p-tip", "r:p-far_world", 3],
    ],
  );
});
