import type { JsonObject } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { VideoService } from "../../../shared/gen/viam/service/video/v1/video_pb.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { echo } from "./echo.ts";
import { gradientJpeg } from "./gradient.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** JPEG images one after the other, as `ffmpeg -f mjpeg` reads them. */
const CONTAINER = "mjpeg";

const SIZE = { width: 320, height: 180 };

/** One image stands for this. Milliseconds. */
const FRAME_MS = 1_000;

/** Most images of one answer. */
const MOST_FRAMES = 600;

/** Model `rdk:builtin:fake` of `rdk:service:video`: one image a second, always the same. */
export const fakeVideoModel: Model<JsonObject> = {
  api: "rdk:service:video",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: anyAttributes,
  construct(): Driver<typeof VideoService> {
    let frame: Promise<Uint8Array> | undefined;
    return {
      async *getVideo({ startTimestamp, endTimestamp, requestId }) {
        const startMs = startTimestamp ? timestampMs(startTimestamp) : 0;
        const endMs = endTimestamp ? timestampMs(endTimestamp) : startMs + FRAME_MS;
        if (endMs < startMs) {
          throw new ConnectError(
            "end_timestamp lies before start_timestamp",
            Code.InvalidArgument,
          );
        }
        const count = Math.min(MOST_FRAMES, Math.max(1, Math.ceil((endMs - startMs) / FRAME_MS)));
        frame ??= gradientJpeg(SIZE.width, SIZE.height);
        for (let n = 0; n < count; n++) {
          yield { videoData: await frame, videoContainer: CONTAINER, requestId };
        }
      },
      doCommand: echo,
    };
  },
};
