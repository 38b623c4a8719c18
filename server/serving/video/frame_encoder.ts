/** A camera's frames, encoded by ffmpeg. */
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { EncodedFrame } from "../../resources/video/encoded_source.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { FlvReader, type FrameReader, IvfReader } from "../../resources/video/containers.ts";
import { type Encoder, encodingArguments, framed, RAW_RGBA } from "./encoders.ts";
import type { FfmpegRun, StartFfmpeg } from "../../resources/video/ffmpeg_program.ts";
import {
  BrokenFrame,
  type CameraFrame,
  frameRate,
  isSameFrame,
  nextFrame,
  releaseFrame,
} from "./camera_frames.ts";
import type { FrameSize } from "./frame_size.ts";

/** What encodes one camera. */
export interface EncodedFramesOptions {
  /** The camera as it is now. @throws when it is gone. */
  readonly camera: () => Resource;
  readonly encoder: Encoder;
  /** Of ffmpeg. */
  readonly version: string;
  readonly start: StartFfmpeg;
  /** Of the video; undefined: that of the frames. */
  readonly size: FrameSize | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** It is the encoder that gives nothing, not the camera. */
export class EncoderError extends Error {
  override readonly name = "EncoderError";
}

/** A camera that sees nothing new is still sent this often. Milliseconds. */
const SAME_EVERY_MS = 1_000;
/** An encoder that gives nothing for this long, though it gets frames, is killed. */
const SILENT_MS = 6_000;
/**
 * The first time that a frame comes twice we ask too near to the moment when the camera takes the
 * next one, and would get some twice and others never: by this share of a period later we do not.
 */
const SHIFT = 0.25;
/** Unusable frames one after the other until it ends. */
const MOST_BROKEN = 50;

/**
 * Encodes until `signal` aborts; the program ends with it. Frames of another kind or size than
 * before go to a new run.
 *
 * @throws {EncoderError} when the program gives nothing any more; what the camera throws.
 */
export async function* encodedFrames(
  options: EncodedFramesOptions,
  signal: AbortSignal,
): AsyncIterable<EncodedFrame> {
  const { camera, clock, log } = options;
  const rate = await frameRate(camera(), signal, clock);
  let frame: CameraFrame | undefined = await nextFrame(camera(), signal, clock);
  while (frame) {
    const first: CameraFrame = frame;
    const run = options.start(argumentsFor(options, first, rate));
    const feeding = feed({ run, first, rate, camera, clock, log, signal });
    feeding.catch(() => {});
    try {
      yield* readFrames(run, options.encoder, clock, feeding, signal);
      if (signal.aborted) return;
      frame = await feeding;
      if (!frame) {
        throw new EncoderError(`the encoder does not run: ${(await run.ended).reason}`);
      }
    } finally {
      run.kill();
    }
  }
}

function argumentsFor(
  { encoder, version, size }: EncodedFramesOptions,
  { mimeType, width, height }: CameraFrame,
  framesPerSecond: number,
): string[] {
  const even = (px: number) => Math.max(2, px - px % 2);
  const wanted = size ?? { width, height };
  return encodingArguments(encoder, {
    mimeType,
    rawSize: { width, height },
    width: even(wanted.width),
    height: even(wanted.height),
    framesPerSecond,
  }, version);
}

/** Ends, also early when the feeding does. */
async function* readFrames(
  run: FfmpegRun,
  { container }: Encoder,
  clock: Clock,
  feeding: Promise<unknown>,
  signal: AbortSignal,
): AsyncIterable<EncodedFrame> {
  const reader: FrameReader = container === "flv" ? new FlvReader() : new IvfReader();
  const kill = () => run.kill();
  signal.addEventListener("abort", kill, { once: true });
  void feeding.then(kill, kill);
  let watch = clock.setTimer(SILENT_MS, kill);
  try {
    for await (const bytes of run.output) {
      for (const frame of reader.read(bytes)) {
        watch.cancel();
        watch = clock.setTimer(SILENT_MS, kill);
        yield frame;
      }
    }
  } finally {
    watch.cancel();
    signal.removeEventListener("abort", kill);
  }
}

/**
 * Gives the program frames as often as the camera takes them.
 *
 * @returns a frame that needs another run; undefined when the program has ended.
 */
async function feed({ run, first, rate, camera, clock, log, signal }: {
  run: FfmpegRun;
  first: CameraFrame;
  rate: number;
  camera: () => Resource;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
}): Promise<CameraFrame | undefined> {
  const everyMs = 1_000 / rate;
  let isOver = false;
  void run.ended.then(() => isOver = true);
  let frame = first;
  let sent: CameraFrame | undefined;
  let sentMs = -Infinity;
  let dueMs = clock.monotonicMs();
  let broken = 0;
  let wasSame = false;
  while (!isOver && !signal.aborted) {
    const nowMs = clock.monotonicMs();
    const isSame = isSameFrame(sent, frame);
    if (isSame && !wasSame) dueMs += everyMs * SHIFT;
    wasSame = isSame;
    if (!isSame || nowMs - sentMs >= SAME_EVERY_MS) {
      try {
        for (const part of framed(frame.mimeType, frame.bytes)) await run.write(part);
      } catch {
        return undefined; // it has ended
      }
      if (sent && sent !== frame) releaseFrame(sent);
      sent = frame;
      sentMs = nowMs;
    } else if (sent && sent !== frame) {
      releaseFrame(frame);
      frame = sent;
    }
    // A camera that is late does not make up for it.
    dueMs = Math.max(dueMs + everyMs, clock.monotonicMs() - everyMs);
    const waitMs = dueMs - clock.monotonicMs();
    if (waitMs > 1) await clock.sleep(waitMs, signal);
    try {
      frame = await nextFrame(camera(), signal, clock);
      broken = 0;
    } catch (error) {
      if (!(error instanceof BrokenFrame) || ++broken >= MOST_BROKEN) throw error;
      if (broken === 1) log.warn(`a frame is left out of the video: ${error.message}`);
      continue;
    }
    const isOther = frame.mimeType !== first.mimeType ||
      (frame.mimeType === RAW_RGBA &&
        (frame.width !== first.width || frame.height !== first.height));
    if (isOther) return frame;
  }
  return undefined;
}
