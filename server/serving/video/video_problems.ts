/** What status says of cameras whose video was stopped. */
import type { Clock } from "../../../shared/base/time/clock.ts";
import { noteProblem } from "../../resources/graph/noted_problems.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { EncoderError } from "./frame_encoder.ts";
import { MOST_FAILURES } from "./feed.ts";
import { nextFrame, releaseFrame, UnfitFrame } from "./camera_frames.ts";

export interface VideoProblemsOptions {
  /**
   * The camera of that name.
   *
   * @throws when there is none at the moment.
   */
  readonly camera: (name: string) => Resource;
  readonly clock: Clock;
}

interface Noted {
  readonly camera: Resource;
}

/** A camera that gave its video nothing is looked at so often, until it gives a frame. */
const LOOK_EVERY_MS = 10_000;

/** See above. */
export class VideoProblems {
  readonly #noted = new Map<string, Noted>();
  readonly #closed = new AbortController();

  constructor(private readonly options: VideoProblemsOptions) {}

  /** Notes why a video was stopped, and what to do. `error`: of its last start. */
  note(name: string, reason: string, error: unknown): void {
    // Others than programs that want video can use it.
    if (error instanceof UnfitFrame) return;
    let camera: Resource;
    try {
      camera = this.options.camera(name);
      // That of a driver here is in status, and ends there; one elsewhere may have to be called.
      if (!camera.forward && camera.problem?.() !== undefined) return;
    } catch {
      return; // Status shows why it is not there.
    }
    const noted = { camera };
    this.#noted.set(name, noted);
    const isEncoder = error instanceof EncoderError;
    const advice = isEncoder
      ? "Look at ffmpeg; the next who wants the video starts it again, and images come with GetImages"
      : "Look at the camera, and at the log of its module or machine; it is looked at every " +
        `${LOOK_EVERY_MS / 1_000} s, and well with its next frame`;
    noteProblem(
      camera,
      `its video ended, as ${MOST_FAILURES} starts gave no frame: ${reason}. ${advice}`,
    );
    if (!isEncoder) void this.#look(name, noted);
  }

  /** It gives frames. */
  end(name: string): void {
    const noted = this.#noted.get(name);
    if (!noted) return;
    this.#noted.delete(name);
    noteProblem(noted.camera, undefined);
  }

  close(): void {
    this.#closed.abort();
  }

  /** The camera may be well again long before the next viewer comes. */
  async #look(name: string, noted: Noted): Promise<void> {
    const { camera, clock } = this.options;
    const { signal } = this.#closed;
    const isNoted = () => !signal.aborted && this.#noted.get(name) === noted;
    while (isNoted()) {
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined);
      if (!isNoted()) return;
      try {
        // One that was built again has a status of its own.
        if (camera(name) !== noted.camera) return this.end(name);
      } catch {
        return this.end(name);
      }
      try {
        releaseFrame(await nextFrame(noted.camera, signal, clock));
      } catch {
        continue;
      }
      if (isNoted()) this.end(name);
    }
  }
}
