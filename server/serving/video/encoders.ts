/** Which encoders of ffmpeg work on this host. */
import type { VideoCodec } from "../../resources/video/encoded_source.ts";

/** One encoder, and the options with which it keeps no frame back. */
export interface Encoder {
  /** As ffmpeg calls it. */
  readonly name: string;
  readonly codec: VideoCodec;
  readonly container: "flv" | "ivf";
  /** Path of the device it needs, or the only system that has it; undefined for software. */
  readonly hardware: string | undefined;
  /** Before the input. */
  readonly device: readonly string[];
  /** Follows the scaling, where frames have to get into a device. */
  readonly upload: string;
  readonly options: readonly string[];
}

/** The device of VA-API. */
const RENDER_DEVICE = "/dev/dri/renderD128";
/** The encoder of a Raspberry Pi up to the fourth. */
const VIDEO_DEVICE = "/dev/video11";

/** The best first: hardware, then what is light on the processor, then what is free everywhere. */
export const ENCODERS: readonly Encoder[] = [
  h264("h264_nvenc", "/dev/nvidia0", [
    "-preset",
    "p1",
    "-tune",
    "ull",
    "-zerolatency",
    "1",
    "-bf",
    "0",
  ]),
  h264("h264_qsv", RENDER_DEVICE, ["-preset", "veryfast", "-async_depth", "1", "-bf", "0"]),
  {
    ...h264("h264_vaapi", RENDER_DEVICE, ["-bf", "0"]),
    device: ["-vaapi_device", RENDER_DEVICE],
    upload: ",format=nv12,hwupload",
  },
  h264("h264_v4l2m2m", VIDEO_DEVICE, ["-num_capture_buffers", "8"]),
  h264("h264_videotoolbox", "darwin", ["-realtime", "1", "-bf", "0"]),
  h264("h264_mf", "windows", ["-hw_encoding", "1"]),
  h264("libx264", undefined, [
    ...["-preset", "ultrafast", "-tune", "zerolatency", "-profile:v", "baseline"],
    // Threads that share one frame keep none back.
    ...["-threads", "2"],
  ]),
  {
    name: "libvpx",
    codec: "VP8",
    container: "ivf",
    hardware: undefined,
    device: [],
    upload: ",format=yuv420p",
    options: [
      ...["-deadline", "realtime", "-cpu-used", "8", "-lag-in-frames", "0"],
      ...["-error-resilient", "1", "-auto-alt-ref", "0", "-threads", "2"],
    ],
  },
];

function h264(
  name: string,
  hardware: string | undefined,
  options: readonly string[],
): Encoder {
  const upload = ",format=yuv420p";
  return { name, codec: "H264", container: "flv", hardware, device: [], upload, options };
}

/** What is run to know whether an encoder works: ten frames of nothing. */
export function trial({ name, device, upload, options, container }: Encoder): string[] {
  return [
    ...["-hide_banner", "-loglevel", "error", "-nostdin", ...device],
    ...["-f", "lavfi", "-i", "color=black:size=640x480:rate=30", "-frames:v", "10"],
    ...["-vf", `scale=640:480${upload}`, "-c:v", name, ...options, "-b:v", "500k"],
    ...["-f", container, "-y", "pipe:1"],
  ];
}

/** What an encoder is to do. */
export interface Encoding {
  /** Of the frames that come in. */
  readonly mimeType: string;
  /** Of raw frames: their size. */
  readonly rawSize?: { readonly width: number; readonly height: number };
  /** Of the video, in pixels; even numbers. */
  readonly width: number;
  readonly height: number;
  readonly framesPerSecond: number;
}

/** Bits for each pixel of a moving frame; 720p at 30/s gets 1.9 Mbit/s. */
const BITS_PER_PIXEL = 0.07;
const LEAST_KBIT = 250;
const MOST_KBIT = 8_000;
/** Seconds from keyframe to keyframe: what a viewer may wait for, and what is kept for new ones. */
const KEYFRAME_EVERY_S = 1;

/** The program's arguments: frames from its input, video to its output. */
export function encodingArguments(
  encoder: Encoder,
  encoding: Encoding,
  version: string,
): string[] {
  const { width, height, framesPerSecond } = encoding;
  const pixels = width * height * framesPerSecond;
  const kbit = Math.round(
    Math.min(MOST_KBIT, Math.max(LEAST_KBIT, pixels * BITS_PER_PIXEL / 1_000)),
  );
  const keyframes = Math.max(1, Math.round(framesPerSecond * KEYFRAME_EVERY_S));
  return [
    ...["-hide_banner", "-loglevel", "error", ...encoder.device],
    // Nothing is held back to look ahead, and the time of a frame is that of its arrival.
    ...["-fflags", "nobuffer", "-probesize", "32", "-analyzeduration", "0", "-threads", "1"],
    ...["-use_wallclock_as_timestamps", "1", ...input(encoding), "-i", "pipe:0"],
    ...["-vf", `scale=${width}:${height}:flags=fast_bilinear${encoder.upload}`, "-an"],
    ...[passthrough(version), "passthrough", "-c:v", encoder.name, ...encoder.options],
    ...["-g", String(keyframes), "-b:v", `${kbit}k`, "-maxrate", `${kbit}k`],
    ...["-bufsize", `${Math.round(kbit / 2)}k`, "-flush_packets", "1"],
    ...["-f", encoder.container, "pipe:1"],
  ];
}

/** The option that keeps each frame, which version 5.1 has renamed. */
function passthrough(version: string): string {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return major !== undefined && Number(`${major}.${minor}`) < 5.1 ? "-vsync" : "-fps_mode";
}

/** Of raw frames as cameras of the family give them, after a header of twelve bytes. */
export const RAW_RGBA = "image/vnd.viam.rgba";
export const RAW_HEADER_BYTES = 12;

function input({ mimeType, rawSize }: Encoding): string[] {
  if (mimeType === RAW_RGBA && rawSize) {
    const size = `${rawSize.width}x${rawSize.height}`;
    return ["-f", "rawvideo", "-pix_fmt", "rgba", "-video_size", size];
  }
  // Parts of multipart MJPEG tell their length, so that a frame is read when it is whole; as such
  // the program takes PNG, too.
  return [...(mimeType === "image/png" ? ["-c:v", "png"] : []), "-f", "mpjpeg"];
}

/** What is written to the program for one frame. */
export function framed(mimeType: string, image: Uint8Array): Uint8Array[] {
  if (mimeType === RAW_RGBA) return [image.subarray(RAW_HEADER_BYTES)];
  const head = `--p\r\nContent-type: image/jpeg\r\nContent-length: ${image.length}\r\n\r\n`;
  return [new TextEncoder().encode(head), image, LINE_END];
}

const LINE_END = new TextEncoder().encode("\r\n");
