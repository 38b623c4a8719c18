/** Frames of a remote, by the names that they have on this machine. Pure. */
import { formatShortName } from "../../shared/config/resource_name.ts";
import type { FrameSystemConfig } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { remoteWorld, WORLD } from "../resources/frames/frame_tree.ts";
import { prefixed } from "./remote_names.ts";

/** Names frames like resources, `remote:prefix+name`; what stands in the world stands in its own. */
export function framesHere(
  configs: readonly FrameSystemConfig[],
  { name: remote, prefix }: { readonly name: string; readonly prefix: string },
): FrameSystemConfig[] {
  const nameOf = (name: string) =>
    name === "" || name === WORLD
      ? remoteWorld(remote)
      : formatShortName({ remote, name: prefixed(prefix, name) });
  return configs.map((config) => {
    const { frame } = config;
    const observed = frame?.poseInObserverFrame;
    if (!frame) return config;
    return {
      ...config,
      frame: {
        ...frame,
        referenceFrame: nameOf(frame.referenceFrame),
        poseInObserverFrame: {
          $typeName: "viam.common.v1.PoseInFrame",
          ...observed,
          referenceFrame: nameOf(observed?.referenceFrame ?? ""),
        },
      },
    };
  });
}
