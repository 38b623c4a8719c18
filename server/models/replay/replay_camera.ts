import { Code, ConnectError } from "@connectrpc/connect";
import type { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { type Still, stillCamera } from "../images/still_camera.ts";
import type { CapturedFile, ReplayCloud } from "./replay_cloud.ts";

/**
 * A camera whose images and points were captured. Each has an order of its own.
 *
 * @throws {ConnectError} when there is no data, or the cloud does not give it.
 */
export async function createReplayCamera(
  cloud: ReplayCloud,
  signal: AbortSignal,
): Promise<Driver<typeof CameraService>> {
  const pictures = cloud.files(["image/jpeg", "image/png"]);
  const clouds = cloud.files(["pointcloud/pcd"]);
  let shown = await pictures.peek(signal);
  const hasPictures = shown !== undefined;
  const hasClouds = await clouds.peek(signal) !== undefined;
  if (!hasPictures && !hasClouds) throw cloud.nothingFound("images and point clouds");
  const camera = stillCamera({
    sourceName: "color",
    async take(signal) {
      if (!hasPictures) {
        throw new ConnectError("of this camera only points were captured", Code.Unimplemented);
      }
      shown = await pictures.next(signal);
      return stillOf(shown);
    },
    look: () => Promise.resolve(stillOf(shown!)),
    pointCloud: hasClouds ? async (signal) => (await clouds.next(signal)).bytes : undefined,
    close: () => Promise.resolve(cloud.close()),
  });
  return hasPictures ? camera : { ...camera, getProperties: () => ({ supportsPcd: true }) };
}

function stillOf({ bytes, capturedAt, origin }: CapturedFile): Still {
  return { bytes, takenAt: capturedAt, origin };
}
