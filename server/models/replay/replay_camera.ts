import { Code, ConnectError } from "@connectrpc/connect";
import type { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { type Still, stillCamera } from "../camera/still_camera.ts";
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
  const images = cloud.files(["image/jpeg", "image/png"]);
  const clouds = cloud.files(["pointcloud/pcd"]);
  let shown = await images.peek(signal);
  const hasImages = shown !== undefined;
  const hasClouds = await clouds.peek(signal) !== undefined;
  if (!hasImages && !hasClouds) throw cloud.nothingFound("images and point clouds");
  const camera = stillCamera({
    sourceName: "color",
    async take(signal) {
      if (!hasImages) {
        throw new ConnectError("of this camera only points were captured", Code.Unimplemented);
      }
      shown = await images.next(signal);
      return stillOf(shown);
    },
    look: () => Promise.resolve(stillOf(shown!)),
    pointCloud: hasClouds ? async (signal) => (await clouds.next(signal)).bytes : undefined,
    close: () => Promise.resolve(cloud.close()),
  });
  return hasImages ? camera : { ...camera, getProperties: () => ({ supportsPcd: true }) };
}

function stillOf({ bytes, capturedAt, origin }: CapturedFile): Still {
  return { bytes, takenAt: capturedAt, origin };
}
