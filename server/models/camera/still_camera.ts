/** A camera that passes on whole images which something else made. */
import { Code, ConnectError } from "@connectrpc/connect";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { MAX_MESSAGE_BYTES } from "../../../shared/rpc/client/limits.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { readImageHeader } from "./image_header.ts";

/** What one message of the public port can carry, with room for the rest of it. */
export const MAX_IMAGE_BYTES = MAX_MESSAGE_BYTES - 64 * 1024;

/** One image as its source gave it. */
export interface Still {
  readonly bytes: Uint8Array;
  readonly takenAt: Date;
  /** Where it is from, for errors. */
  readonly origin: string;
}

export interface StillCameraOptions {
  /** Name of the one source, as GetImages reports it. */
  readonly sourceName: string;
  /** The next image. */
  readonly take: (signal: AbortSignal) => Promise<Still>;
  /** The image whose size GetProperties reports. Default: what `take` gives. */
  readonly look?: (signal: AbortSignal) => Promise<Still>;
  /** A cloud of points in PCD format; left out when there is none. */
  readonly pointCloud?: ((signal: AbortSignal) => Promise<Uint8Array>) | undefined;
  readonly close?: () => Promise<void>;
}

const PCD = "pointcloud/pcd";

/**
 * A driver of the camera API with one source. GetProperties reports width and height of an image;
 * of the lens nothing is known, so focal lengths are 0.
 */
export function stillCamera(options: StillCameraOptions): Driver<typeof CameraService> {
  const { sourceName, take, look = take, pointCloud } = options;
  return {
    async getImages({ filterSourceNames }, { signal }: CallContext) {
      const unknown = filterSourceNames.filter((name) => name !== sourceName);
      if (unknown.length > 0) {
        throw new ConnectError(
          `there is no source ${JSON.stringify(unknown[0])}; this camera has "${sourceName}"`,
          Code.InvalidArgument,
        );
      }
      const { bytes, takenAt, origin } = await take(signal);
      const { mimeType } = readImageHeader(bytes, origin);
      return {
        images: [{ sourceName, image: bytes, mimeType }],
        responseMetadata: { capturedAt: timestampFromDate(takenAt) },
      };
    },
    async getProperties(_request, { signal }: CallContext) {
      const { bytes, origin } = await look(signal);
      const { mimeType, width, height } = readImageHeader(bytes, origin);
      return {
        supportsPcd: pointCloud !== undefined,
        mimeTypes: [mimeType],
        intrinsicParameters: { widthPx: width, heightPx: height },
      };
    },
    async getPointCloud({ mimeType }, { signal }: CallContext) {
      if (!pointCloud) {
        throw new ConnectError("this camera has no point cloud", Code.Unimplemented);
      }
      if (mimeType !== "" && mimeType !== PCD) {
        throw new ConnectError(
          `point clouds are given as ${PCD}, not as ${JSON.stringify(mimeType)}`,
          Code.InvalidArgument,
        );
      }
      return { mimeType: PCD, pointCloud: await pointCloud(signal) };
    },
    ...(options.close && { close: options.close }),
  };
}
