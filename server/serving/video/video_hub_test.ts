import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { VideoTrack } from "../../../shared/rtc/webrtc/video.ts";
import { notedProblem } from "../../resources/graph/noted_problems.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import type { EncodedFrame, EncodedVideo } from "../../resources/video/encoded_source.ts";
import type { FfmpegRun } from "../../resources/video/ffmpeg_program.ts";
import { VideoHub } from "./video_hub.ts";

const WAIT = { deadlineMs: 60_000 };
const JPEG = Uint8Array.of(
  0xff,
  0xd8,
  0xff,
  0xc0,
  0,
  11,
  8,
  0,
  8,
  0,
  16,
  1,
  1,
  0x11,
  0,
  0xff,
  0xd9,
);
/** The head of an IVF file, and a keyframe in it. */
const IVF = Uint8Array.of(
  ...[..."DKIF"].map((letter) => letter.charCodeAt(0)),
  ...Array(28).fill(0),
  ...[2, 0, 0, 0, ...Array(8).fill(0), 0x10, 1],
);

/** An ffmpeg with libvpx, whose encoder dies until it `works`. */
class Host {
  works = false;
  readonly start = (args: readonly string[]): FfmpegRun => {
    if (args.includes("-encoders")) return this.#run(" V....D libvpx  VP8\n", "");
    if (!this.works) return this.#run("", "it exited with code 1: Cannot allocate memory");
    return this.#run(IVF, "it was killed by SIGKILL");
  };

  #run(output: string | Uint8Array, reason: string): FfmpegRun {
    const killed = Promise.withResolvers<void>();
    if (reason !== "it was killed by SIGKILL") killed.resolve();
    async function* read() {
      yield typeof output === "string" ? new TextEncoder().encode(output) : output;
      await killed.promise;
    }
    return {
      output: read(),
      ended: killed.promise.then(() => ({ ok: false, reason, said: "" })),
      write: () => Promise.resolve(),
      kill: killed.resolve,
    };
  }
}

/** A hub with one camera, and somebody who looks at it. */
class Rig {
  readonly clock = new FakeClock();
  readonly host = new Host();
  readonly hub: VideoHub;
  /** Frames by codec. */
  readonly frames = { VP8: 0, H264: 0 };
  ended = 0;
  readonly #passed: EncodedFrame = { data: Uint8Array.of(1), isKeyframe: true };

  constructor(public camera: Resource) {
    this.hub = new VideoHub({
      camera: () => this.camera,
      ...{ clock: this.clock, log: memoryLogger(), start: this.host.start },
    });
  }

  view(codec: "VP8" | "H264"): void {
    const track: VideoTrack = {
      codec,
      onKeyframeWanted: () => {},
      send: () => void this.frames[codec]++,
      remove: () => {},
    };
    this.hub.view("front", track, () => this.ended++);
  }

  /** Video of the camera's own, ten frames a second. */
  encodedVideo(): EncodedVideo {
    const { clock } = this;
    const frame = this.#passed;
    return {
      codec: "H264",
      async *frames(signal) {
        while (!signal.aborted) {
          yield frame;
          await clock.sleep(100, signal).catch(() => {});
        }
      },
    };
  }

  async until(condition: () => boolean): Promise<void> {
    await waitFor(async () => {
      await this.clock.advance(250);
      return condition();
    }, WAIT);
  }
}

const getProperties = () => ({ frameRate: 10 });
const getImages = () => ({ images: [{ image: JPEG, mimeType: "image/jpeg" }] });

Deno.test("a video that was stopped is in the camera's status, until one shows something", async () => {
  const camera = { getImages, getProperties } as unknown as Resource;
  const rig = new Rig(camera);
  rig.view("VP8");
  assert.equal(notedProblem(camera), undefined);
  await rig.until(() => rig.ended === 1);
  assert.match(
    notedProblem(camera) ?? "",
    /^its video ended, as 5 starts gave no frame: .*Cannot allocate memory.*Look at ffmpeg/,
  );
  rig.host.works = true;
  rig.view("VP8");
  await rig.until(() => rig.frames.VP8 > 0);
  assert.equal(notedProblem(camera), undefined);
  await rig.hub.close();
});

Deno.test("a camera that gave its video nothing has that in its status, until it gives a frame", async () => {
  const broken = () => ({ images: [{ image: Uint8Array.of(1, 2, 3), mimeType: "image/jpeg" }] });
  for (
    const [fails, like] of [
      [
        () => Promise.reject(new Error("it is unplugged")),
        /: it is unplugged\. Look at the camera/,
      ],
      [() => new Promise(() => {}), /: the camera gave no frame for 5 s\. Look at the camera/],
      [broken, /: the camera gives a frame that is no image\/jpeg.*\. Look at the camera/],
      [() => ({ images: [] }), /: the camera gives no image\. Look at the camera/],
    ] as const
  ) {
    const camera: Record<string, unknown> = { getImages: fails, getProperties };
    const rig = new Rig(camera as unknown as Resource);
    rig.view("VP8");
    await rig.until(() => rig.ended === 1);
    assert.match(notedProblem(rig.camera) ?? "", like);
    await rig.clock.advance(30_000);
    assert.match(notedProblem(rig.camera) ?? "", like);
    camera["getImages"] = getImages;
    await rig.until(() => notedProblem(rig.camera) === undefined);
    assert.equal(rig.ended, 1);
    await rig.hub.close();
  }
});

Deno.test("a camera that is built again is not looked at for the video of the one before", async () => {
  const getNothing = () => Promise.reject(new Error("it is unplugged"));
  const [first, second] = [getNothing, getNothing].map((getImages) =>
    ({ getImages, getProperties }) as unknown as Resource
  );
  const rig = new Rig(first!);
  rig.view("VP8");
  await rig.until(() => rig.ended === 1);
  assert.notEqual(notedProblem(first!), undefined);
  rig.camera = second!;
  await rig.until(() => rig.clock.pendingTimers === 0);
  assert.equal(notedProblem(second!), undefined);
  await rig.hub.close();
});

Deno.test("a camera elsewhere that has a problem is looked at after its video, until it gives a frame", async () => {
  let problem: string | undefined = "GetImages fails each time";
  const camera: Record<string, unknown> = {
    getImages: () => Promise.reject(new Error("it is unplugged")),
    ...{ getProperties, forward: {}, problem: () => problem },
  };
  const rig = new Rig(camera as unknown as Resource);
  rig.view("VP8");
  await rig.until(() => rig.ended === 1);
  assert.notEqual(notedProblem(rig.camera), undefined);
  camera["getImages"] = () => {
    problem = undefined;
    return getImages();
  };
  await rig.until(() => problem === undefined && notedProblem(rig.camera) === undefined);
  await rig.hub.close();
});

Deno.test("a camera that no encoder can take, or with a problem of its own, is not blamed for its video", async () => {
  const points = () => ({ images: [{ image: JPEG, mimeType: "pointcloud/pcd" }] });
  for (
    const camera of [
      { getImages: points, getProperties },
      { getImages, getProperties, problem: () => "it is frozen" },
    ] as unknown as Resource[]
  ) {
    const rig = new Rig(camera);
    rig.view("VP8");
    await rig.until(() => rig.ended === 1);
    assert.equal(notedProblem(camera), undefined);
    await rig.hub.close();
  }
});

Deno.test("a video in one codec ends what was noted of that in another", async () => {
  const camera: Record<string, unknown> = { getImages, getProperties };
  const rig = new Rig(camera as unknown as Resource);
  camera["encodedVideo"] = () => rig.encodedVideo();
  rig.view("H264");
  await rig.until(() => rig.frames.H264 > 0);
  rig.view("VP8");
  await rig.until(() => rig.ended === 1);
  const { H264 } = rig.frames;
  await rig.until(() => rig.frames.H264 > H264 + 1);
  assert.equal(notedProblem(rig.camera), undefined);
  await rig.hub.close();
});
