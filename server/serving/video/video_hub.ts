/** The videos of all cameras: one encoder for a camera, however many look at it. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { VideoTrack } from "../../../shared/rtc/webrtc/video.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import {
  type EncodedFrame,
  type EncodedVideo,
  isEncodedCamera,
  type VideoCodec,
} from "../../resources/video/encoded_source.ts";
import { encodedFrames, EncoderError } from "./frame_encoder.ts";
import { Feed, type FeedPace } from "./feed.ts";
import { type StartFfmpeg, startFfmpeg } from "../../resources/video/ffmpeg_program.ts";
import { EncoderFinder } from "./ffmpeg.ts";
import type { FrameSize } from "./frame_size.ts";
import { nextFrame } from "./camera_frames.ts";
import { VideoProblems } from "./video_problems.ts";

/** What the hub needs. */
export interface VideoHubOptions {
  /**
   * The camera of that name.
   *
   * @throws {ConnectError} NOT_FOUND or UNAVAILABLE.
   */
  readonly camera: (name: string) => Resource;
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: that of this host. */
  readonly start?: StartFfmpeg;
}

interface Running {
  readonly camera: string;
  readonly feed: Feed;
  readonly tracks: Map<VideoTrack, () => void>;
}

/** Parts of a camera's own size that it is offered in. */
const SCALES = [1, 3 / 4, 1 / 2, 1 / 3, 1 / 4];
const LEAST_PX = 64;
const MOST_PX = 7_680;
/** Level 5.2 of H.264, what browsers decode: 4096 × 2304 in any shape. */
const MOST_AREA_PX = 36_864 * 256;
/** Tracks of all connections; each keeps up to 600 kB to send again. */
const MOST_TRACKS = 128;

/** Begins a camera's video with the first viewer and ends it with the last. */
export class VideoHub {
  readonly #options: VideoHubOptions;
  readonly #start: StartFfmpeg;
  readonly #finder: EncoderFinder;
  /** By camera and codec. */
  readonly #running = new Map<string, Running>();
  readonly #sizes = new Map<string, FrameSize>();
  readonly #problems: VideoProblems;
  /** Of the feeds that ran, by camera and codec. */
  readonly #paces = new Map<string, FeedPace>();
  /** Looks at cameras under way, by camera. */
  readonly #looks = new Map<string, Promise<FrameSize>>();

  constructor(options: VideoHubOptions) {
    this.#options = options;
    this.#start = options.start ?? startFfmpeg;
    this.#problems = new VideoProblems(options);
    this.#finder = new EncoderFinder(this.#start, options.clock);
  }

  /**
   * In which codecs a camera can be sent, the best first.
   *
   * @throws {ConnectError} FAILED_PRECONDITION with what to install; what the camera throws.
   */
  async codecs(name: string): Promise<VideoCodec[]> {
    const own = this.#ownVideo(name)?.codec;
    const encoded = this.#finder.find().then(({ byCodec }) => [...byCodec.keys()]);
    if (own === undefined) return await encoded;
    return [...new Set([own, ...await encoded.catch(() => [])])];
  }

  /**
   * To be called before a track is made for {@link view}, which checks it once more.
   *
   * @throws {ConnectError} RESOURCE_EXHAUSTED when there are as many as this machine sends.
   */
  checkRoom(): void {
    const tracks = this.#running.values().reduce((sum, { tracks }) => sum + tracks.size, 0);
    if (tracks < MOST_TRACKS) return;
    throw new ConnectError(
      `this machine sends ${MOST_TRACKS} videos already; wait until others have left, or request ` +
        "images with GetImages",
      Code.ResourceExhausted,
    );
  }

  /**
   * Sends a camera's video by a track, until it is removed. `onEnd`: it ended for another reason.
   *
   * @throws {ConnectError} RESOURCE_EXHAUSTED, as {@link checkRoom}.
   */
  view(name: string, track: VideoTrack, onEnd: () => void): () => void {
    this.checkRoom();
    const key = `${track.codec} ${name}`;
    let running = this.#running.get(key);
    if (!running) {
      running = { camera: name, feed: this.#begin(key, name, track.codec), tracks: new Map() };
      this.#running.set(key, running);
    }
    const { feed, tracks } = running;
    tracks.set(track, onEnd);
    feed.add(track);
    return () => {
      feed.remove(track);
      if (!tracks.delete(track) || tracks.size > 0) return;
      if (this.#running.get(key)?.feed === feed) this.#running.delete(key);
      void feed.close();
    };
  }

  /** Sizes that a camera's video can have; the first is its own. */
  async sizes(name: string): Promise<FrameSize[]> {
    const own = this.#video(name)?.size ?? await this.#look(name);
    const even = (px: number) => Math.round(px / 2) * 2;
    return SCALES
      .map((scale) => ({ width: even(own.width * scale), height: even(own.height * scale) }))
      .filter((size, index) =>
        index === 0 || Math.min(size.width, size.height) >= LEAST_PX && !refusalOf(size)
      );
  }

  /**
   * Sends a camera's video in another size, to all of its viewers; without one, in its own.
   *
   * @throws {ConnectError} INVALID_ARGUMENT for sizes that no encoder gets; not for its own.
   */
  async setSize(name: string, size: FrameSize | undefined): Promise<void> {
    if (size) {
      const refusal = refusalOf(size);
      // Its own is listed, and sent to who sets none.
      if (refusal !== undefined && !await this.#isOwn(name, size)) {
        throw new ConnectError(refusal, Code.InvalidArgument);
      }
      // Another size than its own needs an encoder.
      await this.#finder.find();
      this.#sizes.set(name, size);
    } else this.#sizes.delete(name);
    for (const { camera, feed } of this.#running.values()) {
      if (camera === name) feed.restart();
    }
  }

  /** Ends all videos. */
  async close(): Promise<void> {
    this.#problems.close();
    const feeds = [...this.#running.values()].map(({ feed }) => feed);
    this.#running.clear();
    await Promise.all(feeds.map((feed) => feed.close()));
  }

  async #isOwn(name: string, { width, height }: FrameSize): Promise<boolean> {
    const [own] = await this.sizes(name).catch(() => []);
    return own?.width === width && own.height === height;
  }

  /** One frame of a camera, for all who ask meanwhile. */
  #look(name: string): Promise<FrameSize> {
    const known = this.#looks.get(name);
    if (known) return known;
    const { camera, clock } = this.#options;
    const look = nextFrame(camera(name), new AbortController().signal, clock)
      .finally(() => this.#looks.delete(name));
    this.#looks.set(name, look);
    return look;
  }

  /** The pace of a camera's feeds; those of cameras that may begin anyway are forgotten. */
  #paceOf(key: string): FeedPace {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [other, { nextMs }] of this.#paces) {
      if (nextMs <= nowMs && !this.#running.has(other)) this.#paces.delete(other);
    }
    const pace = this.#paces.get(key) ?? { nextMs: -Infinity };
    this.#paces.set(key, pace);
    return pace;
  }

  #video(name: string): EncodedVideo | undefined {
    const camera = this.#options.camera(name);
    return isEncodedCamera(camera) ? camera.encodedVideo() : undefined;
  }

  /** Encoded video of the camera's own, unless another size is wanted. */
  #ownVideo(name: string): EncodedVideo | undefined {
    const video = this.#video(name);
    return this.#sizes.has(name) ? undefined : video;
  }

  #begin(key: string, name: string, codec: VideoCodec): Feed {
    const { clock } = this.#options;
    const log = this.#options.log.child(name);
    const feed: Feed = new Feed({
      source: (signal) => this.#watched(name, this.#source(name, codec, log, signal)),
      requestKeyframe: () => this.#ownVideo(name)?.requestKeyframe?.(),
      clock,
      log,
      pace: this.#paceOf(key),
      onGivenUp: (reason, error) => {
        const running = this.#running.get(key);
        if (running?.feed !== feed) return;
        this.#running.delete(key);
        this.#problems.note(name, reason, error);
        for (const end of running.tracks.values()) end();
      },
    });
    log.debug("video of a camera begins", { codec, passed_on: this.#isPassedOn(name, codec) });
    void feed.done.then(() => log.debug("video of a camera has ended", { codec }));
    return feed;
  }

  /** A video that shows something, in any codec, ends what was noted. */
  async *#watched(name: string, frames: AsyncIterable<EncodedFrame>) {
    for await (const frame of frames) {
      this.#problems.end(name);
      yield frame;
    }
  }

  #isPassedOn(name: string, codec: VideoCodec): boolean {
    return this.#ownVideo(name)?.codec === codec;
  }

  async *#source(name: string, codec: VideoCodec, log: Logger, signal: AbortSignal) {
    const { camera, clock } = this.#options;
    const own = this.#ownVideo(name);
    if (own?.codec === codec) return yield* own.frames(signal);
    const { version, byCodec } = await this.#finder.find().catch((error) => {
      throw new EncoderError(ConnectError.from(error).rawMessage);
    });
    const encoder = byCodec.get(codec);
    if (!encoder) throw new EncoderError(`no encoder for ${codec} works here`);
    log.debug("a camera's frames are encoded", { encoder: encoder.name });
    yield* encodedFrames({
      ...{ encoder, version, clock, log, start: this.#start },
      camera: () => camera(name),
      size: this.#sizes.get(name),
    }, signal);
  }
}

/** Why a camera's video is not brought to that size; undefined: it is. */
function refusalOf({ width, height }: FrameSize): string | undefined {
  for (const [what, px] of [["width", width], ["height", height]] as const) {
    if (px >= 2 && px <= MOST_PX && px % 2 === 0) continue;
    return `resolution.${what} is ${px}; an even number from 2 to ${MOST_PX} is allowed`;
  }
  const area = width * height;
  return area > MOST_AREA_PX
    ? `resolution has ${area} pixels; ${MOST_AREA_PX} are allowed`
    : undefined;
}
