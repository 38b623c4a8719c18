import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger.ts";
import type { VideoTrack } from "../../../shared/rtc/webrtc/video.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { encodedPictures } from "./encoded_pictures.ts";
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
  const runs: { args: readonly string[]; written: Uint8Array[]; die: () => void }[] = [];
  const start = (args: readonly string[]): FfmpegRun => {
    const { promise: ended, resolve } = Promise.withResolvers<
      { ok: boolean; reason: string; said: string }
    >();
    const written: Uint8Array[] = [];
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(
      undefined,
      new CountQueuingStrategy({ highWaterMark: 1_000 }),
    );
    const writer = writable.getWriter();
    const die = () => {
      resolve({ ok: false, reason: "it was ended by SIGKILL", said: "" });
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
        written.push(bytes);
        if (bytes[0] !== 0xff) return;
        await writer.write(Uint8Array.of(2, 0, 0, 0, ...Array(8).fill(0), 0x10, bytes.at(-1)!));
      },
    };
  };
  return { runs, start };
}

function feedOf(getImages: () => unknown) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const { runs, start } = program();
  const camera = { getImages, getProperties: () => ({ frameRate: 10 }) } as unknown as Resource;
  let givenUp = false;
  const sent: number[] = [];
  const feed = new Feed({
    source: (signal) =>
      encodedPictures({
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

Deno.test("pictures are encoded as they change, and the same one once a second", async () => {
  let number = 0;
  const { feed, runs, sent, until } = feedOf(() => image(jpeg(Math.min(++number, 3))));
  await until(() => sent.length >= 3);
  assert.deepEqual(sent.slice(0, 3), [1, 2, 3]);
  assert.match(
    runs[0]!.args.join(" "),
    /-f mpjpeg.*scale=16:8.*-c:v libvpx.*-g 10 .*-f ivf pipe:1$/,
  );
  await until(() => sent.length >= 5);
  assert.ok(number >= 15, `${number} pictures were taken for 5`);
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
  assert.match(log.text(), /begun again.*ended by SIGKILL/);
  await feed.close();
});

Deno.test("damaged pictures are left out, and the video continues", async () => {
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
