import type { ScreenAttributes } from "./live_attributes.ts";
import { type LiveEnvironment, opened, QUALITY } from "./live_camera.ts";

/** @throws when there is no screen, or no frame comes, with what to do. */
export function createScreenCamera(attributes: ScreenAttributes, environment: LiveEnvironment) {
  if (Deno.build.os !== "linux") {
    throw new Error("screens are taken on Linux with X only");
  }
  return opened(screenArguments(attributes), environment);
}

/** What ffmpeg is given. @throws when no display is named. */
export function screenArguments(
  { display, x_px: x = 0, y_px: y = 0, width_px: width, height_px: height, frame_rate: rate = 5 }:
    ScreenAttributes,
) {
  if (display === undefined || display === "") {
    throw new Error(
      "there is no screen: name an X display in attributes.display, for example :0, or start the " +
        "server with DISPLAY set",
    );
  }
  const name = /\.\d+$/.test(display) ? display : `${display}.0`;
  return {
    shown: `screen ${display}`,
    secrets: [],
    input: [
      ...["-f", "x11grab", "-framerate", String(rate)],
      ...(width && height ? ["-video_size", `${width}x${height}`] : []),
      ...["-i", `${name}+${x},${y}`],
    ],
    output: ["-an", ...QUALITY, "-f", "mpjpeg"],
  };
}
