/** What ffmpeg or the kernel says, and what a person can do about it. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [
    /\+\d+,\d+: Input\/output error/,
    "the screen cannot be opened; see whether the display is there, and whether the server's user " +
    "may use it (DISPLAY, XAUTHORITY)",
  ],
  [
    /401 Unauthorized|authorization failed|403 Forbidden/i,
    "the camera refuses the user and password in the address",
  ],
  [/404 Not Found|454 |Stream not found/i, "the camera has no stream of that path"],
  [
    /Connection refused/i,
    "nothing answers at that address and port; see whether RTSP is switched on in the camera",
  ],
  [
    /Connection timed out|No route to host|Network is unreachable/i,
    "the camera cannot be reached; see whether it is on and in this network",
  ],
  [/Name or service not known|Failed to resolve/i, "the host in the address is not known"],
  [
    /Device or resource busy|EBUSY/i,
    "another program uses the camera; end it, or name another video_path",
  ],
  [
    /Permission denied|EACCES|EPERM/i,
    "this user may not use the camera; add it to the group video",
  ],
  [
    /No such file or directory|No such device|Input\/output error|ENOENT|ENODEV|ENXIO/i,
    "the camera is not there; plug it in, or name another video_path",
  ],
  [
    /Not a video capture device|Inappropriate ioctl/i,
    "that is no camera that takes frames; name another video_path",
  ],
  [
    /Cannot find a proper format|not supported|Invalid argument/i,
    "the camera has no frames of that format, size or rate; leave out format, width_px, " +
    "height_px and frame_rate to take its own",
  ],
  [/Invalid data found|Could not find codec parameters/i, "what comes is no video"],
];

/**
 * Why a stream ended, in one line, with what to do.
 *
 * @param reason what the program said last.
 * @param secrets texts that must not be shown.
 */
export function streamProblem(reason: string, secrets: readonly string[]): string {
  const advice = ADVICE.find(([pattern]) => pattern.test(reason))?.[1];
  const shown = secrets.reduce((text, secret) => text.replaceAll(secret, "***"), reason)
    .replace(/\/\/[^/\s@]*@/g, "//***@");
  return advice === undefined ? shown : `${advice} (${shown})`;
}
