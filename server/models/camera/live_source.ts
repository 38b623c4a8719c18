import { toError } from "../../../shared/base/errors/to_error.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { FfmpegRun, StartFfmpeg } from "../../resources/video/ffmpeg_program.ts";
import { readImageHeader } from "./image_header.ts";
import { MAX_IMAGE_BYTES, type Still } from "./still_camera.ts";
import { multipartFrames } from "./multipart_frames.ts";
import { streamProblem } from "./stream_problem.ts";

export interface LiveSourceOptions {
  /** ffmpeg's arguments up to and with its input. */
  readonly input: readonly string[];
  /** Those of its output, that make JPEG of what comes. */
  readonly output: readonly string[];
  /** What it is, for messages: "/dev/video0". */
  readonly shown: string;
  /** Texts of the input that must not be shown. */
  readonly secrets: readonly string[];
  readonly start: StartFfmpeg;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A frame at most this old is given at once. Milliseconds. */
const FRESH_MS = 1_000;
/** The first frame may take this long: cameras send a whole one only now and then. */
const FIRST_MS = 15_000;
/** Without a frame for so long, a stream is frozen and begun again. */
const FROZEN_MS = 5_000;
/** A stream that nobody looks at ends after this. */
const IDLE_MS = 30_000;

/**
 * The frames of a stream. It runs while somebody requests them; one that ends, freezes or breaks is
 * begun again, with pauses that grow to half a minute, until it has given a frame: what status shows
 * must end when the camera is well again, also when nobody looks.
 */
export class LiveSource {
  readonly #backoff = new Backoff({ minMs: 500, maxMs: 30_000 });
  readonly #closed = new AbortController();
  #loop: Promise<void> | undefined;
  #run: FfmpegRun | undefined;
  #latest: Still | undefined;
  #latestMs = -Infinity;
  #requestedMs = 0;
  #next = Promise.withResolvers<Still>();
  #problem: string | undefined;
  #frames = 0;
  #restarts = 0;

  constructor(private readonly options: LiveSourceOptions) {
    this.#next.promise.catch(() => undefined);
  }

  /** Why there are no frames, as far as the last attempt shows. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** What GetStatus reports. */
  get state() {
    return {
      source: this.options.shown,
      state: this.#problem !== undefined ? "failing" : this.#loop ? "running" : "idle",
      pictures: this.#frames,
      restarts: this.#restarts,
      ...(this.#latest && { last_picture: this.#latest.takenAt.toISOString() }),
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  /** A frame of now. @throws why there is none, with what to do. */
  async take(signal: AbortSignal): Promise<Still> {
    const { clock } = this.options;
    this.#requestedMs = clock.monotonicMs();
    if (this.#latest && clock.monotonicMs() - this.#latestMs <= FRESH_MS) return this.#latest;
    // While it pauses between attempts, callers need not wait for the next.
    if (this.#loop && this.#problem !== undefined && !this.#run) throw new Error(this.#problem);
    this.#loop ??= this.#repeat().finally(() => this.#loop = undefined);
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    const timer = clock.setTimer(FIRST_MS, () => {
      left.reject(new Error(`${this.options.shown} gave no frame within ${FIRST_MS / 1_000} s`));
    });
    try {
      return await Promise.race([this.#next.promise, left.promise]);
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", leave);
    }
  }

  async close(): Promise<void> {
    const error = new Error("the camera was closed");
    this.#closed.abort(error);
    this.#fail(error);
    this.#run?.kill();
    await this.#loop;
  }

  async #repeat(): Promise<void> {
    const { clock, log, shown, secrets } = this.options;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      try {
        await this.#once();
        return; // Nobody looks any more.
      } catch (error) {
        if (signal.aborted) return;
        const problem = `${shown}: ${streamProblem(toError(error).message, secrets)}`;
        // Before its first frame the camera is being built, and the log has why it cannot be.
        if (problem !== this.#problem && this.#frames > 0) {
          log.warn("the camera gives no frames", { event: "video_failed", problem });
        }
        this.#problem = problem;
        this.#fail(new Error(problem));
      }
      await clock.sleep(this.#backoff.next(), signal).catch(() => undefined);
      this.#restarts++;
    }
  }

  /** Returns when nobody looks any more. @throws when the stream ends, freezes or breaks. */
  async #once(): Promise<void> {
    const { clock, input, output, start } = this.options;
    const run = start(["-hide_banner", "-loglevel", "error", ...input, ...output, "pipe:1"]);
    this.#run = run;
    let frozenMs = 0;
    const freeze = (ms: number) =>
      clock.setTimer(ms, () => {
        frozenMs = ms;
        run.kill();
      });
    let timer = freeze(FIRST_MS);
    try {
      for await (const bytes of multipartFrames(run.output, MAX_IMAGE_BYTES)) {
        timer.cancel();
        this.#give(bytes);
        if (clock.monotonicMs() - this.#requestedMs > IDLE_MS) return;
        timer = freeze(FROZEN_MS);
      }
      if (frozenMs === 0) throw new Error((await run.ended).reason);
      throw new Error(
        `it is frozen: no frame came for ${frozenMs / 1_000} s; see its power and network`,
      );
    } finally {
      timer.cancel();
      run.kill();
      await run.ended;
      this.#run = undefined;
    }
  }

  #give(bytes: Uint8Array): void {
    const { clock, shown, log } = this.options;
    readImageHeader(bytes, `a frame of ${shown}`);
    if (this.#problem !== undefined) log.info("the camera gives frames again", { source: shown });
    this.#problem = undefined;
    this.#backoff.reset();
    this.#frames++;
    this.#latest = { bytes, takenAt: clock.now(), origin: shown };
    this.#latestMs = clock.monotonicMs();
    this.#next.resolve(this.#latest);
    this.#next = Promise.withResolvers();
    this.#next.promise.catch(() => undefined);
  }

  #fail(error: Error): void {
    this.#next.reject(error);
    this.#next = Promise.withResolvers();
    this.#next.promise.catch(() => undefined);
  }
}
