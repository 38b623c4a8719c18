import type { JsonObject } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { CameraService } from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { type StartFfmpeg, startFfmpeg } from "../../resources/video/ffmpeg_program.ts";
import { findVideoDevices } from "../discovery/device_files.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { stillCamera } from "./still_camera.ts";
import type { RtspAttributes, WebcamAttributes } from "./live_attributes.ts";
import type { EncodedCamera } from "./encoded_source.ts";
import { copiedVideo } from "./copied_video.ts";
import { LiveSource } from "./live_source.ts";
import { VideoDevice } from "./video_device.ts";

export interface LiveEnvironment {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Default: the ffmpeg of this host. */
  readonly start?: StartFfmpeg;
  /** Where /sys and /dev are. Default: the root. */
  readonly root?: string;
}

export interface WebcamEnvironment extends LiveEnvironment {
  /** The system calls of this host. */
  readonly kernel: () => Kernel;
  /** Of all webcams of this host: paths of those with a call that hangs. */
  readonly hanging: Set<string>;
}

type Camera = Driver<typeof CameraService>;

/** Quality of JPEG, 2 (best) to 31. */
export const QUALITY = ["-q:v", "4"];

/** @throws when no frame comes, with what to do. */
export async function createRtspCamera(
  { rtsp_address: address, frame_rate = 10, transport = "tcp", rtp_passthrough }: RtspAttributes,
  environment: LiveEnvironment,
): Promise<Camera & Partial<EncodedCamera>> {
  const { password, host, pathname } = new URL(address);
  const secrets = password === "" ? [] : [password, decodeURIComponent(password)];
  const stream = {
    ...{ shown: `rtsp://${host}${pathname}`, secrets },
    input: ["-rtsp_transport", transport, "-i", address],
  };
  const output = ["-an", "-r", String(frame_rate), ...QUALITY, "-f", "mpjpeg"];
  const camera = await opened({ ...stream, output }, environment);
  if (!rtp_passthrough) return camera;
  const { clock, start = startInstalled } = environment;
  const video = copiedVideo({ ...stream, clock, start });
  return { ...camera, encodedVideo: () => video };
}

/** @throws when there is no such camera, or no frame comes, with what to do. */
export async function createWebcam(
  attributes: WebcamAttributes,
  environment: WebcamEnvironment,
): Promise<Camera> {
  const devices = await findVideoDevices(environment.root ?? "/");
  const known = devices.map(({ path, description }) =>
    description === undefined ? path : `${path} (${description})`
  );
  const path = attributes.video_path ?? devices[0]?.path;
  const there = `cameras of this host: ${known.join(", ") || "none"}`;
  if (path === undefined) throw new Error(`there is no camera; plug one in. ${there}`);
  if (!await isThere(path)) {
    throw new Error(`${path} is not there; plug the camera in, or name another. ${there}`);
  }
  const { clock, log, signal, kernel, hanging, start = startInstalled } = environment;
  const device = new VideoDevice(kernel, path, clock, hanging);
  const { controls } = attributes;
  if (controls) await device.set(controls, "attributes.controls", signal);
  const closed = new AbortController();
  const setAgain = controls && againSetter(device, controls, log, closed.signal);
  let isFirst = true;
  const startSet: StartFfmpeg = (args) => {
    // One that was unplugged has forgotten them.
    if (!isFirst) void setAgain?.();
    isFirst = false;
    return start(args);
  };
  const open = async (format: string | undefined) => {
    const own = webcamArguments(path, { ...attributes, format });
    const camera = await opened({ shown: path, secrets: [], ...own }, {
      ...environment,
      start: startSet,
    });
    return {
      ...camera,
      doCommand: (command: JsonObject, { signal }: CallContext) => device.run(command, signal),
      async close() {
        closed.abort(new Error("the camera was closed"));
        await camera.close?.();
      },
    };
  };
  try {
    return await open(attributes.format);
  } catch (error) {
    // Many cameras have no MJPEG; their own format always works.
    if (attributes.format !== undefined) throw error;
    return await open("");
  }
}

/** Sets controls while a stream begins; a camera that stays away is logged once. */
function againSetter(
  device: VideoDevice,
  controls: Record<string, number>,
  log: Logger,
  signal: AbortSignal,
) {
  let last: string | undefined;
  return async () => {
    try {
      await device.set(controls, "attributes.controls", signal);
      last = undefined;
    } catch (error) {
      if (signal.aborted) return;
      const { message } = toError(error);
      if (message !== last) log.warn(`controls of the camera are not set: ${message}`);
      last = message;
    }
  };
}

/** What ffmpeg is given for a camera of this host; an empty format is the camera's own. */
export function webcamArguments(
  path: string,
  attributes: Omit<WebcamAttributes, "video_path" | "controls">,
) {
  const { width_px: width, height_px: height, frame_rate: rate, format = "mjpeg" } = attributes;
  const isJpeg = format === "mjpeg";
  return {
    input: [
      ...["-f", "v4l2", "-thread_queue_size", "4"],
      ...(format === "" ? [] : ["-input_format", format]),
      ...(width && height ? ["-video_size", `${width}x${height}`] : []),
      ...(rate === undefined ? [] : ["-framerate", String(rate)]),
      ...["-i", path],
    ],
    // Images that are JPEG already are passed on as they are.
    output: [...(isJpeg ? ["-c:v", "copy"] : QUALITY), "-an", "-f", "mpjpeg"],
  };
}

/** A camera over such a stream, once it has given a frame. */
export async function opened(
  stream: {
    readonly input: readonly string[];
    readonly output: readonly string[];
    readonly shown: string;
    readonly secrets: readonly string[];
  },
  { clock, log, signal, start = startInstalled }: LiveEnvironment,
): Promise<Camera> {
  const source = new LiveSource({ ...stream, clock, log, start });
  const camera: Camera = {
    ...stillCamera({
      sourceName: "color",
      take: (signal) => source.take(signal),
      close: () => source.close(),
    }),
    getStatus: () => source.state,
    problem: () => source.problem,
  };
  try {
    await source.take(signal);
    return camera;
  } catch (error) {
    await source.close();
    throw error;
  }
}

function startInstalled(args: readonly string[]) {
  try {
    return startFfmpeg(args);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error("ffmpeg is not installed on this host, and this camera needs it: install it", {
      cause: error,
    });
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}
