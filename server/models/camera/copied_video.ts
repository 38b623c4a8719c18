/** A camera's H.264 as it sends it, for viewers. */
import type { Clock } from "../../../shared/base/time/clock.ts";
import { FlvReader } from "../../resources/video/containers.ts";
import type { StartFfmpeg } from "../../resources/video/ffmpeg_program.ts";
import type { EncodedFrame, EncodedVideo } from "./encoded_source.ts";
import { streamProblem } from "./stream_problem.ts";

/** Cameras send a keyframe only now and then, but frames all the time. */
const FROZEN_MS = 10_000;

export interface CopiedVideoOptions {
  /** ffmpeg's arguments up to and with its input. */
  readonly input: readonly string[];
  /** What it is, for messages. */
  readonly shown: string;
  /** Texts of the input that must not be shown. */
  readonly secrets: readonly string[];
  readonly start: StartFfmpeg;
  readonly clock: Clock;
}

/** Nothing is decoded: ffmpeg takes the frames out of the stream. */
export function copiedVideo(options: CopiedVideoOptions): EncodedVideo {
  return { codec: "H264", frames: (signal) => frames(options, signal) };
}

async function* frames(
  { input, shown, secrets, start, clock }: CopiedVideoOptions,
  signal: AbortSignal,
): AsyncGenerator<EncodedFrame> {
  const output = ["-an", "-c:v", "copy", "-f", "flv", "-flush_packets", "1", "pipe:1"];
  const run = start(["-hide_banner", "-loglevel", "error", ...input, ...output]);
  const end = () => run.kill();
  signal.addEventListener("abort", end, { once: true });
  let isFrozen = false;
  const freeze = () =>
    clock.setTimer(FROZEN_MS, () => {
      isFrozen = true;
      run.kill();
    });
  let timer = freeze();
  const reader = new FlvReader();
  try {
    for await (const bytes of run.output) {
      const whole = reader.read(bytes);
      if (whole.length === 0) continue;
      timer.cancel();
      yield* whole;
      timer = freeze();
    }
    if (signal.aborted) return;
    throw new Error(
      isFrozen
        ? `${shown}: no frame in H.264 came for ${FROZEN_MS / 1_000} s; if the camera sends ` +
          "another format, take rtp_passthrough away"
        : `${shown}: ${streamProblem((await run.ended).reason, secrets)}`,
    );
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", end);
    run.kill();
    await run.ended;
  }
}
