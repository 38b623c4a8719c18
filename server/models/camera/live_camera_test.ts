import assert from "node:assert/strict";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import {
  type CameraService,
  GetImagesRequestSchema,
} from "../../../shared/gen/viam/component/camera/v1/camera_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { isEncodedCamera } from "../../resources/video/encoded_source.ts";
import type { FfmpegRun } from "../../resources/video/ffmpeg_program.ts";
import { readImageHeader } from "./image_header.ts";
import { jpegBytes } from "./testing.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { startRtspCamera } from "./fake_rtsp_camera.ts";
import type { RtspAttributes } from "./live_attributes.ts";
import { createWebcam, opened, webcamArguments } from "./live_camera.ts";
import { rtspModel } from "./live_models.ts";
import { LiveSource } from "./live_source.ts";
import { multipartFrames } from "./multipart_frames.ts";
import { streamProblem } from "./stream_problem.ts";

const request = create(GetImagesRequestSchema, {});
const TO_JPEG = ["-q:v", "4", "-f", "mpjpeg"];

function environment() {
  return { clock: systemClock, log: memoryLogger(), signal: new AbortController().signal };
}

async function* bytes(...parts: readonly Uint8Array[]) {
  for (const part of parts) yield await Promise.resolve(part);
}

const part = (image: Uint8Array) => {
  const head = `--ffmpeg\r\nContent-type: image/jpeg\r\nContent-length: ${image.length}\r\n\r\n`;
  return new Uint8Array([...new TextEncoder().encode(head), ...image, 13, 10]);
};

Deno.test("multipartFrames() finds images wherever the pieces are cut", async () => {
  const stream = new Uint8Array([...part(jpegBytes(4, 2)), ...part(jpegBytes(6, 2))]);
  for (let cut = 1; cut < stream.length; cut++) {
    const found = [];
    for await (
      const frame of multipartFrames(bytes(stream.subarray(0, cut), stream.subarray(cut)), 99)
    ) {
      found.push(readImageHeader(frame, "x").width);
    }
    assert.deepEqual(found, [4, 6], String(cut));
  }
  const all = async (stream: Uint8Array, most = 99) => {
    for await (const _ of multipartFrames(bytes(stream), most)) { /* reads */ }
  };
  await assert.rejects(all(stream, 3), /a frame has \d+ bytes; 3 are taken/);
  await assert.rejects(all(new Uint8Array(2_000)), /a frame has no head/);
});

Deno.test("streamProblem() says what to do, and shows no password", () => {
  const said = (text: string) => streamProblem(text, ["s3cret"]);
  assert.match(said("x: 401 Unauthorized"), /^the camera refuses the user and password/);
  assert.match(said("/dev/video0: Device or resource busy"), /^another program uses the camera/);
  assert.match(said("rtsp://a:s3cret@h/: Connection refused"), /RTSP is switched on.*\/\/\*\*\*@h/);
  assert.equal(said("it ended with s3cret"), "it ended with ***");
});

Deno.test("webcamArguments() leaves to the camera what is not set, and passes JPEG on", () => {
  const none = { width_px: undefined, height_px: undefined, frame_rate: undefined };
  const mjpeg = webcamArguments("/dev/video2", { ...none, format: undefined });
  assert.equal(
    mjpeg.input.join(" "),
    "-f v4l2 -thread_queue_size 4 -input_format mjpeg -i /dev/video2",
  );
  assert.equal(mjpeg.output.join(" "), "-c:v copy -an -f mpjpeg");
  const raw = webcamArguments("/dev/video0", {
    ...{ width_px: 640, height_px: 480, frame_rate: 15, format: "yuyv422" },
  });
  assert.match(raw.input.join(" "), /-input_format yuyv422 -video_size 640x480 -framerate 15 -i/);
  assert.equal(raw.output.join(" "), "-q:v 4 -an -f mpjpeg");
});

Deno.test("createWebcam() names the cameras there are when one is not there", async () => {
  const root = await Deno.makeTempDir();
  const none = { video_path: undefined, width_px: undefined, height_px: undefined };
  const rest = { frame_rate: undefined, format: undefined, controls: undefined };
  try {
    const build = (attributes: { video_path?: string }) =>
      createWebcam({ ...none, ...rest, ...attributes }, {
        ...environment(),
        root,
        kernel: () => assert.fail("no device is opened"),
        hanging: new Set<string>(),
      });
    await assert.rejects(build({}), /there is no camera; plug one in\. cameras of this host: none/);
    await Deno.mkdir(`${root}/sys/class/video4linux/video3`, { recursive: true });
    await Deno.writeTextFile(`${root}/sys/class/video4linux/video3/name`, "UVC Camera\n");
    await assert.rejects(
      build({ video_path: "/dev/video-none" }),
      /video-none is not there; plug the camera in, or name another\. .*: \/dev\/video3 \(UVC Camera\)/,
    );
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test({
  name: "opened() gives images of a stream, and GetStatus its state",
  ignore: ignoreWithout(import.meta.url, "ffmpeg"),
  async fn() {
    const camera = await opened({
      ...{ shown: "test pattern", secrets: [], output: TO_JPEG },
      input: ["-re", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=20"],
    }, environment());
    try {
      const { images } = await camera.getImages!(request, testCall());
      const { width, height, mimeType } = readImageHeader(images![0]!.image!, "x");
      assert.deepEqual([width, height, mimeType], [320, 240, "image/jpeg"]);
      const state = await camera.getStatus!(testCall());
      assert.deepEqual([state["state"], state["restarts"]], ["running", 0]);
    } finally {
      await camera.close!();
    }
  },
});

Deno.test({
  name: "rtspModel() gives images of a network camera, and says why it gives none",
  ignore: ignoreWithout(import.meta.url, "ffmpeg"),
  async fn() {
    const video = await testVideo();
    const server = startRtspCamera(video, "p4ssword");
    const model = rtspModel(testEnvironment());
    const build = (address: string) =>
      construct<Awaited<ReturnType<typeof opened>>, unknown>(model, { rtsp_address: address });
    const host = `127.0.0.1:${server.port}`;
    try {
      const camera = await build(`rtsp://viewer:p4ssword@${host}/stream`);
      const { images } = await camera.getImages!(request, testCall());
      assert.equal(readImageHeader(images![0]!.image!, "x").width, 160);
      assert.equal((await camera.getStatus!(testCall()))["source"], `rtsp://${host}/stream`);
      await camera.close!();
      await assert.rejects(build(`rtsp://viewer:wr0ng@${host}/stream`), (error: Error) => {
        assert.match(error.message, /refuses the user and password/);
        assert.doesNotMatch(error.message, /wr0ng/);
        return true;
      });
    } finally {
      server.close();
    }
    await assert.rejects(build(`rtsp://${host}/`), /nothing answers at that address and port/);
  },
});

/** A second of H.264 without B-frames, in Annex B form: 160 × 120 pixels, two keyframes. */
async function testVideo(): Promise<Uint8Array> {
  const { stdout } = await new Deno.Command("ffmpeg", {
    args: [
      ...["-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=160x120:rate=20:duration=1"],
      ...["-c:v", "libx264", "-g", "10", "-bf", "0", "-pix_fmt", "yuv420p", "-f", "h264", "-"],
    ],
  }).output();
  return stdout;
}

Deno.test({
  name: "rtp_passthrough gives viewers the camera's own H.264, from a keyframe on",
  ignore: ignoreWithout(import.meta.url, "ffmpeg"),
  async fn() {
    const server = startRtspCamera(await testVideo());
    let isOpen = true;
    const address = `rtsp://127.0.0.1:${server.port}/stream`;
    const build = (attributes: JsonObject) =>
      construct<Driver<typeof CameraService>, RtspAttributes>(
        rtspModel(testEnvironment()),
        { rtsp_address: address, ...attributes },
      );
    const [camera, plain] = [await build({ rtp_passthrough: true }), await build({})];
    try {
      assert.equal(isEncodedCamera(plain), false);
      assert.ok(isEncodedCamera(camera));
      const source = camera.encodedVideo()!;
      assert.equal(source.codec, "H264");
      const ending = new AbortController();
      const kinds: number[][] = [];
      for await (const { data, isKeyframe } of source.frames(ending.signal)) {
        const units = [...data].flatMap((value, at) =>
          value === 1 && data[at - 1] === 0 && data[at - 2] === 0 ? [data[at + 1]! & 31] : []
        );
        assert.equal(units.includes(5), isKeyframe);
        kinds.push(units);
        if (kinds.length === 30) ending.abort();
      }
      const keyframe = kinds.find((units) => units.includes(5));
      assert.deepEqual(keyframe?.slice(0, 2), [7, 8], "parameter sets come first");
      assert.ok(kinds.some((units) => units.includes(1)));
      server.close();
      isOpen = false;
      await assert.rejects(async () => {
        for await (const _ of source.frames(new AbortController().signal)) { /* reads */ }
      }, /rtsp:.*nothing answers at that address/);
    } finally {
      await Promise.all([camera.close!(), plain.close!()]);
      if (isOpen) server.close();
    }
  },
});

/** Runs that tests feed by hand. */
function fakeRuns() {
  const runs: { push(bytes: Uint8Array): void; end(reason: string): void }[] = [];
  const start = (): FfmpegRun => {
    const ended = Promise.withResolvers<Awaited<FfmpegRun["ended"]>>();
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const output = new ReadableStream<Uint8Array>({ start: (own) => void (controller = own) });
    const end = (reason: string) => {
      try {
        controller.close();
      } catch {
        // It is closed.
      }
      ended.resolve({ ok: false, reason, said: "" });
    };
    runs.push({ push: (bytes) => controller.enqueue(bytes), end });
    return {
      output,
      ended: ended.promise,
      write: () => Promise.resolve(),
      kill: () => end("killed"),
    };
  };
  return { runs, start };
}

Deno.test("LiveSource begins a stream again that freezes, until it gives a frame", async () => {
  const clock = new FakeClock();
  const { runs, start } = fakeRuns();
  const source = new LiveSource({
    ...{ input: [], output: [], shown: "cam", secrets: [], start, clock, log: memoryLogger() },
  });
  const failure = (promise: Promise<unknown>) =>
    promise.then(() => "none", (error) => error.message);
  const { signal } = new AbortController();
  const first = source.take(signal);
  runs[0]!.push(part(jpegBytes(4, 2)));
  assert.equal((await first).origin, "cam");
  assert.equal((await source.take(signal)).origin, "cam");
  assert.equal(source.state.state, "running");

  await clock.advance(2_000);
  const second = failure(source.take(signal));
  await clock.advance(5_000);
  assert.match(await second, /cam: it is frozen: no frame came for 5 s; see its power/);
  assert.equal(source.state.state, "failing");
  assert.ok(runs.length > 1, "it was begun again");

  // Nobody looks any more; it is tried on, so that the problem ends with what caused it.
  await clock.advance(120_000);
  const tried = runs.length;
  assert.match(source.problem ?? "", /it is frozen/);
  await waitFor(async () => {
    await clock.advance(5_000);
    return runs.length > tried;
  }, { deadlineMs: 60_000 });
  runs.at(-1)!.push(part(jpegBytes(4, 2)));
  await waitFor(() => source.problem === undefined, { deadlineMs: 60_000 });
  // Then nothing runs.
  await clock.advance(60_000);
  const begun = runs.length;
  await clock.advance(120_000);
  assert.equal(runs.length, begun);

  const third = failure(source.take(signal));
  assert.equal(runs.length, begun + 1);
  await source.close();
  assert.match(await third, /the camera was closed/);
});

Deno.test("a camera that is unplugged has a problem, and frames when it is back", async () => {
  const clock = new FakeClock();
  const { runs, start } = fakeRuns();
  const { signal } = new AbortController();
  const opening = opened(
    { input: [], output: [], shown: "cam", secrets: [] },
    { clock, log: memoryLogger(), signal, start },
  );
  runs[0]!.push(part(jpegBytes(4, 2)));
  const camera = await opening;
  const state = async () => (await camera.getStatus!(testCall()))["state"];
  assert.equal(camera.problem!(), undefined);
  runs[0]!.end("/dev/video0: No such device");
  await waitFor(() => camera.problem!() !== undefined, { deadlineMs: 60_000 });
  assert.match(
    camera.problem!() ?? "",
    /cam: the camera is not there; plug it in, or name another video_path/,
  );
  assert.equal(await state(), "failing");

  await waitFor(async () => {
    await clock.advance(500);
    return runs.length === 2;
  }, { deadlineMs: 60_000 });
  runs[1]!.push(part(jpegBytes(4, 2)));
  await waitFor(() => camera.problem!() === undefined, { deadlineMs: 60_000 });
  assert.equal(await state(), "running");
  await camera.close!();
});
