import {
  AttributeError,
  attributes,
  boolean,
  type Check,
  integer,
  mapOf,
  number,
  oneOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import type { RtspAttributes, ScreenAttributes, WebcamAttributes } from "./live_attributes.ts";

type Environment = Pick<BuiltinEnvironment, "clock" | "variables">;

const api = "rdk:component:camera";

/** Model `rdk:builtin:rtsp` of `rdk:component:camera`: a network camera, through ffmpeg. */
export function rtspModel(environment: Environment): Model<RtspAttributes> {
  return {
    api,
    model: "rdk:builtin:rtsp",
    triedWith: "an RTSP server of the tests, with and without a password; no real network camera",
    attributes: attributes<RtspAttributes>({
      rtsp_address: rtspAddress(
        "The stream, as rtsp://USER:PASSWORD@HOST:PORT/PATH. The password is shown in no message; " +
          "users of this host can see it among the arguments of ffmpeg.",
      ),
      frame_rate: optional(number("Most images a second that are decoded. Default 10.", {
        min: 0.1,
        max: 120,
      })),
      transport: optional(oneOf(
        ["tcp", "udp"],
        "How the stream comes; udp loses frames where the network is bad. Default tcp.",
      )),
      rtp_passthrough: optional(boolean(
        "Viewers get the video as the camera sends it, where that is H.264 without B-frames. " +
          "Default false: it is decoded and encoded again.",
      )),
    }),
    async construct({ attributes, log, signal }) {
      const { createRtspCamera } = await import("./live_camera.ts");
      return await createRtspCamera(attributes, { ...environment, log, signal });
    },
  };
}

/** Model `rdk:builtin:webcam` of `rdk:component:camera`: a camera of this host, through ffmpeg. */
export function webcamModel(environment: BuiltinEnvironment): Model<WebcamAttributes> {
  const hanging = new Set<string>();
  return {
    api,
    model: "rdk:builtin:webcam",
    triedWith:
      "ffmpeg's test source in the place of a device, and an emulation of V4L2's ioctls; no real camera",
    attributes: attributes<WebcamAttributes>({
      video_path: optional(text(
        "The device, for example /dev/video0 or a link in /dev/v4l/by-id, which stays the same when " +
          "others are plugged in. Default: the first camera.",
      )),
      width_px: optional(pixels("Width of images. Default: the camera's own.")),
      height_px: optional(pixels("Height of images. Default: the camera's own.")),
      frame_rate: optional(number("Images a second. Default: the camera's own.", {
        min: 0.1,
        max: 240,
      })),
      format: optional(text(
        "How the camera sends images, as ffmpeg calls it: mjpeg, yuyv422, h264. Default: mjpeg " +
          "where it has that, else its own.",
      )),
      controls: optional(mapOf(
        integer("A value that the control takes."),
        "Controls of the camera by their names, for example brightness; its command " +
          '{"controls": true} lists them. Default: they are left as they are.',
      )),
    }),
    async construct({ attributes, log, signal }) {
      const { createWebcam } = await import("./live_camera.ts");
      const { hostHardware } = await import("../kernel/host_hardware.ts");
      const kernel = () => hostHardware(environment).kernel;
      return await createWebcam(attributes, { ...environment, log, signal, kernel, hanging });
    },
  };
}

/** Model `rdk:builtin:screen` of `rdk:component:camera`: what a screen shows, through ffmpeg. */
export function screenModel(environment: Environment): Model<ScreenAttributes> {
  return {
    api,
    model: "rdk:builtin:screen",
    triedWith: "the X server Xvfb; no real screen",
    attributes: attributes<ScreenAttributes>({
      display: optional(text(
        "The X display, for example :0. Default: that of the server's environment (DISPLAY).",
      )),
      x_px: optional(integer("Left edge of what is taken. Default 0.", { min: 0 })),
      y_px: optional(integer("Upper edge of what is taken. Default 0.", { min: 0 })),
      width_px: optional(pixels("Width of images. Default: the whole screen.")),
      height_px: optional(pixels("Height of images. Default: the whole screen.")),
      frame_rate: optional(number("Images a second. Default 5.", { min: 0.1, max: 60 })),
    }),
    async construct({ attributes, log, signal }) {
      const { createScreenCamera } = await import("./screen_camera.ts");
      const { display = environment.variables()["DISPLAY"] } = attributes;
      return await createScreenCamera({ ...attributes, display }, { ...environment, log, signal });
    },
  };
}

function pixels(description: string): Check<number> {
  return integer(description, { min: 1, max: 16_384 });
}

/** Nothing of what is wrong is shown, as it may have a password. */
function rtspAddress(description: string): Check<string> {
  return {
    schema: { type: "string", format: "uri", description },
    parse(value, path) {
      const isFitting = typeof value === "string" && /^rtsps?:\/\/[^\s/]+/.test(value) &&
        URL.canParse(value);
      if (isFitting) return value;
      const found = typeof value === "string"
        ? JSON.stringify(value.replace(/[^/]*@/, "***@"))
        : JSON.stringify(value) ?? "nothing";
      throw new AttributeError(path, found, "an address that begins with rtsp:// or rtsps://");
    },
  };
}
