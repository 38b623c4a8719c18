import type { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { readImageHeader } from "../camera/image_header.ts";
import { MAX_IMAGE_BYTES, type Still, stillCamera } from "../camera/still_camera.ts";
import { Polled } from "../readings/polled.ts";
import type { HttpCameraAttributes } from "./http_attributes.ts";
import { HttpError, httpGet, readBody } from "./http_get.ts";
import type { HttpSensorEnvironment } from "./http_sensor.ts";
import { multipartBoundary, readFirstPart } from "./multipart.ts";

const DEFAULT_TIMEOUT_MS = 10_000;
/** After a failure. */
const AGAIN_MS = 10_000;

/** The time of an image is that of its arrival: what cameras report it is rarely right. */
export function createHttpCamera(
  { url, headers = {}, timeout, interval }: HttpCameraAttributes,
  { clock, fetch = globalThis.fetch }: HttpSensorEnvironment,
): Driver<typeof CameraService> {
  const polled = new Polled<Still>({
    clock,
    intervalMs: interval ?? 0,
    againMs: AGAIN_MS,
    ask: async (signal) => {
      const bytes = await httpGet({
        address: url,
        headers,
        accept: "image/jpeg, image/png, multipart/x-mixed-replace",
        timeoutMs: timeout ?? DEFAULT_TIMEOUT_MS,
        clock,
        signal,
        fetch,
      }, readImage);
      const origin = `the answer of ${url.shown}`;
      readImageHeader(bytes, origin);
      return { bytes, takenAt: clock.now(), origin };
    },
  });
  return {
    ...stillCamera({
      sourceName: "color",
      take: (signal) => polled.read(signal),
      close: () => polled.close(),
    }),
    problem: () => polled.problem,
  };
}

async function readImage(response: Response): Promise<Uint8Array> {
  const boundary = multipartBoundary(response.headers.get("content-type"));
  if (boundary === undefined) return await readBody(response, MAX_IMAGE_BYTES);
  if (!response.body) throw new HttpError("the stream of images is empty");
  return await readFirstPart(response.body, boundary, MAX_IMAGE_BYTES);
}
