import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { VideoTrack } from "../../../shared/rtc/webrtc/video.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { encodedFrames } from "./frame_encoder.ts";
import type { EncodedFrame } from "../../resources/video/encoded_source.ts";
import { ENCODERS } from "./encoders.ts";
import { Feed } from "./feed.ts";
import type { FfmpegRun } from "../../resources/video/ffmpeg_program.ts";

const libvpx = ENCODERS.find(({ name }) => name === "libvpx")!;
const WAIT = { deadlineMs: 60_000 };
/** A JPEG of 16 by 8 pixels, as far as its header; `tag` makes it another one. */
const jpeg = (tag: number) =>
  Uint8Array.of(0xff, 0xd8, 0xff, 0xc0, 0, 11, 8, 0, 8, 0, 16, 1, 1, 0x11, 0, 0xff, 0xd9, tag);

/** A program that gives a keyframe for each frame, until it is killed. */
function program() {
  const runs: { args: readonly string[]; written: number[]; die: () => void }[] = [];
  const start = (args: readonly string[]): FfmpegRun => {
    const { promise: ended, resolve } = Promise.withResolvers<
      { ok: boolean; reason: string; said: string }
    >();
    const written: number[] = [];
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(
      undefined,
      new CountQueuingStrategy({ highWaterMark: 1_000 }),
    );
    const writer = writable.getWriter();
    const die = () => {
      resolve({ ok: false, reason: "it was killed by SIGKILL", said: "" });
      writer.close().catch(() => {});
    };
    writer.closed.catch(() => {});
    void writer.write(
      Uint8Array.from([..."DKIF"].map((c) => c.charCodeAt(0)).concat(Array(28).fill(0))),
    );
    runs.push({ args, written, die });
    return {
      output: readable,
      ended,
      kill: die,
      async write(bytes) {
        written.push(bytes.length);
        if (bytes[0] !== 0xff && bytes.length < 1_000) return;
        await writer.write(Uint8Array.of(2, 0, 0, 0, ...Array(8).fill(0), 0x10, bytes.at(-1)!));
      },
    };
  };
  return { runs, start };
}

function feedOf(getImages: () => unknown, more: object = {}) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const { runs, start } = program();
  const camera = {
    ...{ getImages, getProperties: () => ({ frameRate: 10 }) },
    ...more,
  } as unknown as Resource;
  let givenUp = false;
  const sent: number[] = [];
  const feed = new Feed({
    source: (signal) =>
      encodedFrames({
        ...{ camera: () => camera, encoder: libvpx, version: "5.1", start, size: undefined },
        ...{ clock, log },
      }, signal),
    requestKeyframe: () => {},
    ...{ clock, log },
    onGivenUp: () => givenUp = true,
  });
  const track: VideoTrack = {
    codec: "VP8",
    onKeyframeWanted: () => {},
    send: ({ data }) => void sent.push(data[1]!),
    remove: () => {},
  };
  feed.add(track);
  /** Lets time pass until it is so. */
  const until = (condition: () => boolean, stepMs = 50) =>
    waitFor(async () => {
      await clock.advance(stepMs);
      return condition();
    }, WAIT);
  return { feed, clock, log, runs, sent, until, givenUp: () => givenUp };
}

const image = (bytes: Uint8Array) => ({ images: [{ image: bytes, mimeType: "image/jpeg" }] });

Deno.test("frames are encoded as they change, and the same one once a second", async () => {
  let number = 0;
  const { feed, runs, sent, until } = feedOf(() => image(jpeg(Math.min(++number, 3))));
  await until(() => sent.length >= 3);
  assert.deepEqual(sent.slice(0, 3), [1, 2, 3]);
  assert.match(
    runs[0]!.args.join(" "),
    /-f mpjpeg.*scale=16:8.*-c:v libvpx.*-g 10 .*-f ivf pipe:1$/,
  );
  await until(() => sent.length >= 5);
  assert.ok(number >= 15, `${number} frames were taken for 5`);
  await feed.close();
});

Deno.test("frames of a camera as fast as its video all get through, whenever it takes them", async () => {
  let asked = 0;
  // It answers a little sooner or later, just when the next frame is there.
  const camera = () =>
    image(jpeg(Math.floor(clock.monotonicMs() / 100 + (++asked % 2 ? 0.1 : -0.1))));
  const { feed, clock, sent, until } = feedOf(camera);
  await until(() => sent.length >= 15, 5);
  const last = sent.slice(-10);
  assert.deepEqual(last, last.map((_, at) => last[0]! + at));
  await feed.close();
});

Deno.test("an encoder that dies is started again", async () => {
  let number = 0;
  const { feed, runs, sent, log, until } = feedOf(() => image(jpeg(++number % 250)));
  await until(() => sent.length > 0);
  runs[0]!.die();
  await until(() => runs.length === 2);
  const before = sent.length;
  await until(() => sent.length > before);
  assert.match(log.text(), /begun again.*killed by SIGKILL/);
  await feed.close();
});

Deno.test("damaged frames are left out, and the video continues", async () => {
  let number = 0;
  const { feed, runs, sent, log, until } = feedOf(() =>
    image(++number % 2 === 0 ? Uint8Array.of(1, 2, 3) : jpeg(number))
  );
  await until(() => sent.length >= 3);
  assert.ok(sent.every((tag) => tag % 2 === 1));
  assert.equal(runs.length, 1);
  assert.match(
    log.text(),
    /left out of the video: the camera gives a frame that is no image\/jpeg/,
  );
  await feed.close();
});

/** Raw frames as a module gives them: each in a message of its own. */
function rawCamera(give: (number: number) => number | undefined) {
  const all: ArrayBuffer[] = [];
  const getImages = () => {
    const tag = give(all.length);
    const size = [0x52, 0x47, 0x42, 0x41, 0, 0, 0, 160, 0, 0, 0, 100];
    const message = new Uint8Array(50 + size.length + 160 * 100 * 4).fill(tag ?? 0);
    if (tag !== undefined) message.set(size, 50);
    all.push(message.buffer);
    return { images: [{ image: message.subarray(50), mimeType: "image/vnd.viam.rgba" }] };
  };
  return { all, getImages, kept: () => all.filter(({ detached }) => !detached).length };
}

Deno.test("of a module's raw frames two are in memory, the last ones", async () => {
  // Every third is the one before, every seventh is none.
  const camera = rawCamera((number) => number % 7 === 6 ? undefined : number - number % 3 & 255);
  const { feed, runs, until } = feedOf(camera.getImages, { forward: {} });
  let most = 0;
  await until(() => {
    // Those that cannot be used are left to the collector.
    most = Math.max(most, camera.kept() - Math.floor(camera.all.length / 7));
    return camera.all.length >= 100;
  });
  assert.ok(most <= 3, `${most} frames were kept`);
  assert.deepEqual(runs.map(({ written }) => [...new Set(written)]), [[64_000]]);
  assert.ok(runs[0]!.written.length > 20);
  await feed.close();
});

Deno.test("frames of a driver here stay the driver's", async () => {
  const camera = rawCamera((number) => number & 255);
  const { feed, until } = feedOf(camera.getImages);
  await until(() => camera.all.length >= 30);
  assert.equal(camera.kept(), camera.all.length);
  await feed.close();
});

Deno.test("a camera that is frozen ends the video after five starts, with the reason", async () => {
  let number = 0;
  const { feed, sent, log, until, givenUp } = feedOf(() =>
    ++number < 3 ? image(jpeg(number)) : new Promise(() => {})
  );
  await until(() => sent.length === 2);
  await until(givenUp, 500);
  assert.match(log.text(), /ends, after several starts.*the camera gave no frame for 5 s/);
  await feed.done;
});

Deno.test("a source begins twice a second at most, also in the feed after this one", async () => {
  const clock = new FakeClock();
  const pace = { nextMs: -Infinity };
  let begun = 0;
  const feed = () =>
    new Feed({
      // deno-lint-ignore require-yield
      async *source(signal) {
        begun++;
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      },
      requestKeyframe: () => {},
      ...{ clock, log: memoryLogger(), pace, onGivenUp: () => {} },
    });
  const churn = async (ms: number) => {
    for (let at = 0; at < ms; at += 10) {
      current.restart();
      await clock.advance(10);
    }
  };
  let current = feed();
  await churn(2_000);
  assert.ok(begun >= 2 && begun <= 5, `${begun} in two seconds`);
  const before = begun;
  for (let count = 0; count < 50; count++) {
    await current.close();
    current = feed();
  }
  await churn(400);
  assert.ok(begun <= before + 1, `${begun - before} within 400 ms`);
  await churn(2_000);
  assert.ok(begun > before, "it begins at last");
  await current.close();
});

Deno.test("a flood of requests for keyframes asks the source, and repeats frames, so often", async () => {
  const clock = new FakeClock();
  const source = new TransformStream<EncodedFrame, EncodedFrame>();
  const frames = source.writable.getWriter();
  let requested = 0;
  const feed = new Feed({
    source: () => source.readable,
    requestKeyframe: () => requested++,
    ...{ clock, log: memoryLogger(), onGivenUp: () => {} },
  });
  let bytes = 0;
  const viewers = Array.from({ length: 20 }, (): VideoTrack => ({
    codec: "VP8",
    onKeyframeWanted: () => {},
    send: ({ data }) => void (bytes += data.length),
    remove: () => {},
  }));
  for (const viewer of viewers) feed.add(viewer);
  const flood = async () => {
    for (let second = 0; second < 10; second++) {
      for (let count = 0; count < 10; count++) {
        for (const viewer of viewers) viewer.onKeyframeWanted();
        await clock.advance(100);
      }
    }
  };
  await flood();
  assert.ok(requested >= 10 && requested <= 21, `${requested} in ten seconds`);
  await frames.write({ data: new Uint8Array(2_000_000), isKeyframe: true });
  await waitFor(() => bytes === 20 * 2_000_000, WAIT);
  bytes = 0;
  await flood();
  // Twenty viewers, ten seconds, one MB a second each, and what comes at once.
  assert.ok(bytes >= 100_000_000 && bytes <= 240_000_000, `${bytes} bytes were repeated`);
  await frames.close();
  await feed.close();
});
