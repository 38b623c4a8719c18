import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { VideoTrack } from "../../../shared/rtc/webrtc/video.ts";
import { notedProblem } from "../../resources/graph/noted_problems.ts";
import type { Resource } from "../../resources/graph/resource.ts";
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
    if (!this.works) return this.#run("", "it ended with code 1: Cannot allocate memory");
    return this.#run(IVF, "it was ended by SIGKILL");
  };

  #run(output: string | Uint8Array, reason: string): FfmpegRun {
    const killed = Promise.withResolvers<void>();
    if (reason !== "it was ended by SIGKILL") killed.resolve();
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

Deno.test("a video that is given up is in the camera's status, until one shows something", async () => {
  const clock = new FakeClock();
  const host = new Host();
  const getImages = () => ({ images: [{ image: JPEG, mimeType: "image/jpeg" }] });
  const camera = { getImages, getProperties: () => ({ frameRate: 10 }) } as unknown as Resource;
  const hub = new VideoHub({
    ...{ camera: () => camera, clock, log: memoryLogger(), start: host.start },
  });
  let frames = 0;
  const track: VideoTrack = {
    codec: "VP8",
    onKeyframeWanted: () => {},
    send: () => void frames++,
    remove: () => {},
  };
  const until = (condition: () => boolean) =>
    waitFor(async () => {
      await clock.advance(250);
      return condition();
    }, WAIT);
  let ended = 0;
  hub.view("front", track, () => ended++);
  assert.equal(notedProblem(camera), undefined);
  await until(() => ended === 1);
  assert.match(
    notedProblem(camera) ?? "",
    /^its video ended, as 5 starts gave no frame: .*Cannot allocate memory.*Look at the camera and at ffmpeg/,
  );
  host.works = true;
  hub.view("front", track, () => ended++);
  await until(() => frames > 0);
  assert.equal(notedProblem(camera), undefined);
  await hub.close();
});
