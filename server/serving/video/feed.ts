/** One running video of a camera, for all who look at it. */
import { ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { VideoTrack } from "../../../shared/rtc/webrtc/video.ts";
import type { EncodedFrame } from "../../resources/video/encoded_source.ts";

/** When a camera's video may begin next, milliseconds of the clock. A new one for each camera. */
export interface FeedPace {
  nextMs: number;
}

/** What a feed needs. */
export interface FeedOptions {
  /** Begins the video; ends it when the signal aborts. */
  readonly source: (signal: AbortSignal) => AsyncIterable<EncodedFrame>;
  /** Asks the source for a keyframe, where it can. */
  readonly requestKeyframe: () => void;
  readonly clock: Clock;
  readonly log: Logger;
  /** That of the camera's feeds before this one; left out for the first. */
  readonly pace?: FeedPace;
  /** It has ended on its own, and why: nobody gets anything any more. `error`: of the last start. */
  readonly onGivenUp: (reason: string, error?: unknown) => void;
}

/** Since the last keyframe: what a new viewer gets at once. More is not kept. */
const KEPT = { frames: 900, bytes: 8 * 1024 * 1024 };
/** Starts without one frame until it ends. */
export const MOST_FAILURES = 5;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 8_000;
/** From one start of a source to the next, however often viewers come, go or set another size. */
const BEGIN_EVERY_MS = 500;
/** From one request to a source for a keyframe to the next, however many viewers want one. */
const KEYFRAME_EVERY_MS = 500;
/** What a viewer gets again at most, however often it wants a keyframe. */
const REPEATED_BYTES_A_MS = 1_000;

interface Viewer {
  /** For a keyframe: nothing else is of use to it. */
  waits: boolean;
  /** When it may get what is kept, milliseconds of the clock. */
  repeatMs: number;
}

/** Runs while it has viewers; a source that fails is begun again, with pauses. */
export class Feed {
  readonly #options: FeedOptions;
  readonly #stop = new AbortController();
  readonly #viewers = new Map<VideoTrack, Viewer>();
  #kept: EncodedFrame[] = [];
  #keptBytes = 0;
  #keyframeMs = -Infinity;
  #restart = new AbortController();
  /** Resolves when all that ran has stopped. */
  readonly done: Promise<void>;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.done = this.#run();
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** A viewer that joins sees a frame at once, where there was one. */
  add(track: VideoTrack): void {
    this.#viewers.set(track, { waits: true, repeatMs: -Infinity });
    track.onKeyframeWanted = () => this.#refresh(track);
    this.#refresh(track);
  }

  remove(track: VideoTrack): void {
    this.#viewers.delete(track);
  }

  /** Begins the source again, with what is set now; viewers stay. */
  restart(): void {
    this.#restart.abort();
  }

  /** Ends the source. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.done;
  }

  /** Sends all since the last keyframe, so that the viewer can follow from there. */
  #refresh(track: VideoTrack): void {
    const viewer = this.#viewers.get(track);
    if (!viewer) return;
    const nowMs = this.#options.clock.monotonicMs();
    if (this.#kept.length === 0) {
      viewer.waits = true;
      if (nowMs < this.#keyframeMs) return;
      this.#keyframeMs = nowMs + KEYFRAME_EVERY_MS;
      return this.#options.requestKeyframe();
    }
    if (nowMs < viewer.repeatMs) return;
    viewer.repeatMs = nowMs + this.#keptBytes / REPEATED_BYTES_A_MS;
    viewer.waits = false;
    const { length } = this.#kept;
    // A viewer's clock begins with the first: all of them are from now.
    for (const [index, { data }] of this.#kept.entries()) {
      track.send({ data, atMs: nowMs - (length - 1 - index) });
    }
  }

  #send(frame: EncodedFrame): void {
    const atMs = this.#options.clock.monotonicMs();
    this.#keep(frame);
    for (const [track, viewer] of this.#viewers) {
      if (viewer.waits && !frame.isKeyframe) continue;
      viewer.waits = false;
      track.send({ data: frame.data, atMs });
    }
  }

  #keep(frame: EncodedFrame): void {
    if (frame.isKeyframe) this.#forget();
    else if (this.#kept.length === 0) return;
    this.#kept.push(frame);
    this.#keptBytes += frame.data.length;
    if (this.#kept.length > KEPT.frames || this.#keptBytes > KEPT.bytes) this.#forget();
  }

  #forget(): void {
    this.#kept = [];
    this.#keptBytes = 0;
  }

  async #run(): Promise<void> {
    const { clock, log, source, onGivenUp, pace = { nextMs: -Infinity } } = this.#options;
    const { signal } = this.#stop;
    let failures = 0;
    while (!signal.aborted) {
      const earlyMs = pace.nextMs - clock.monotonicMs();
      if (earlyMs > 0) {
        await clock.sleep(earlyMs, signal).catch(() => {});
        continue;
      }
      pace.nextMs = clock.monotonicMs() + BEGIN_EVERY_MS;
      this.#restart = linkedController(signal);
      let problem = "it has ended";
      let failure: unknown;
      try {
        for await (const frame of source(this.#restart.signal)) {
          failures = 0;
          this.#send(frame);
        }
      } catch (error) {
        failure = error;
        problem = messageOf(error);
      }
      const isRestarted = this.#restart.signal.aborted;
      this.#restart.abort();
      this.#forget();
      for (const viewer of this.#viewers.values()) viewer.waits = true;
      if (signal.aborted) return;
      if (isRestarted) continue;
      if (++failures >= MOST_FAILURES) {
        log.warn("the video of a camera ends, after several starts", {
          event: "video_failed",
          reason: problem,
        });
        return onGivenUp(problem, failure);
      }
      log.warn("the video of a camera is begun again", { reason: problem, failures });
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
      await clock.sleep(pauseMs, signal).catch(() => {});
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof ConnectError ? error.rawMessage : toError(error).message;
}
