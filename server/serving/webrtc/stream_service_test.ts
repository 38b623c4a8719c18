import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { StreamService } from "../../../shared/gen/proto/stream/v1/stream_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { RtcPeer } from "../../../shared/rtc/webrtc/peer.ts";
import type { VideoFrame, VideoOffer, VideoTrack } from "../../../shared/rtc/webrtc/video.ts";
import type { EncodedFrame, EncodedVideo } from "../../resources/video/encoded_source.ts";
import type { ResourceManager } from "../../resources/graph/manager.ts";
import { rtcPeerKey } from "./served_peers.ts";
import { createStreamService } from "./stream_service.ts";

/** A camera with video of its own, given by hand. */
class Source implements EncodedVideo {
  readonly codec = "H264";
  readonly size = { width: 640, height: 480 };
  running = 0;
  #put: (frame: EncodedFrame) => void = () => {};

  put(first: number, isKeyframe = false): void {
    this.#put({ data: Uint8Array.of(0, 0, 0, 1, first), isKeyframe });
  }

  async *frames(signal: AbortSignal): AsyncIterable<EncodedFrame> {
    this.running++;
    const waiting: EncodedFrame[] = [];
    let wake = () => {};
    this.#put = (frame) => {
      waiting.push(frame);
      wake();
    };
    signal.addEventListener("abort", () => wake());
    try {
      while (!signal.aborted) {
        for (let frame; (frame = waiting.shift());) yield frame;
        await new Promise<void>((resolve) => wake = resolve);
      }
    } finally {
      this.running--;
    }
  }
}

function peer() {
  const { promise: closed, resolve: close } = Promise.withResolvers<string>();
  const offers: VideoOffer[] = [];
  const sent: number[] = [];
  let wanted = () => {};
  let removed = 0;
  const track: VideoTrack = {
    codec: "H264",
    get onKeyframeWanted() {
      return wanted;
    },
    set onKeyframeWanted(value) {
      wanted = value;
    },
    send: ({ data }: VideoFrame) => void sent.push(data[4]!),
    remove: () => void removed++,
  };
  const own = {
    closed,
    addVideo: (offer: VideoOffer) => {
      offers.push(offer);
      return Promise.resolve(track);
    },
  } as unknown as RtcPeer;
  return { own, offers, sent, close, track, want: () => wanted(), removed: () => removed };
}

function machine(calling?: RtcPeer | (() => RtcPeer), still: object = {}) {
  const source = new Source();
  const callerOf = typeof calling === "function" ? calling : () => calling;
  const front = { encodedVideo: () => source };
  const node = (name: string, instance: object | undefined) => ({
    ...{ instance, error: "", state: instance ? "ready" : "configuring" },
    target: { spec: { name } },
  });
  const nodes: Record<string, object> = {
    front: node("front", front),
    back: node("back", still),
    "r:side": node("r:side", front),
    late: node("late", undefined),
  };
  const resources = {
    *ready() {
      for (const name of ["front", "back", "r:side"]) {
        yield { api: "rdk:component:camera", name, resource: {} };
      }
      yield { api: "rdk:component:sensor", name: "host", resource: {} };
    },
    index: {
      find: (_api: string, name: string) => nodes[name],
      wholeName: (_: string, n: string) => n,
    },
  } as unknown as Pick<ResourceManager, "ready" | "index">;
  const { service, close } = createStreamService({
    resources,
    clock: new FakeClock(),
    log: memoryLogger(),
    start: () => {
      throw new Deno.errors.NotFound("no ffmpeg");
    },
  });
  const router = new RpcRouter().service(StreamService, service);
  const transport = createInProcessTransport(router, {
    interceptors: [{ before: (call) => void call.values.set(rtcPeerKey, callerOf()) }],
  });
  return { source, streams: createClient(StreamService, transport), close };
}

const refuses = (call: Promise<unknown>, code: Code, text: RegExp) =>
  assert.rejects(
    call,
    (error: ConnectError) => error.code === code && text.test(error.rawMessage),
  );

Deno.test("StreamService lists cameras, and says what it wants for their video", async () => {
  const { streams } = machine();
  assert.deepEqual((await streams.listStreams({})).names, ["back", "front", "r:side"]);
  await refuses(streams.addStream({ name: "front" }), Code.FailedPrecondition, /WebRTC.*GetImages/);
  const called = machine(peer().own);
  await refuses(
    called.streams.addStream({ name: "host" }),
    Code.NotFound,
    /"host"; there are: back, front, r:side/,
  );
  await refuses(called.streams.addStream({ name: "late" }), Code.Unavailable, /it is configuring/);
  await refuses(
    called.streams.addStream({ name: "back" }),
    Code.FailedPrecondition,
    /ffmpeg is not installed.*apt install ffmpeg.*GetImages/,
  );
  await called.streams.removeStream({ name: "front" });
});

Deno.test("a camera's own video runs while somebody looks, from the last keyframe on", async () => {
  const viewer = peer();
  const { source, streams, close } = machine(viewer.own);
  await streams.addStream({ name: "front" });
  await streams.addStream({ name: "front" });
  assert.deepEqual(viewer.offers, [{ streamId: "front", codecs: ["H264"] }]);
  await waitFor(() => source.running === 1, { deadlineMs: 60_000 });
  source.put(1);
  source.put(2, true);
  source.put(3);
  await waitFor(() => viewer.sent.length === 2, { deadlineMs: 60_000 });
  assert.deepEqual(viewer.sent, [2, 3], "nothing before a keyframe");
  viewer.want();
  assert.deepEqual(viewer.sent, [2, 3, 2, 3]);
  await streams.removeStream({ name: "front" });
  await waitFor(() => source.running === 0, { deadlineMs: 60_000 });
  assert.equal(viewer.removed(), 1);

  // The name as SDKs write that of a remote's camera; then it leaves without a word.
  await streams.addStream({ name: "r+side" });
  assert.equal(viewer.offers[1]?.streamId, "r+side");
  await waitFor(() => source.running === 1, { deadlineMs: 60_000 });
  viewer.close("gone");
  await waitFor(() => source.running === 0, { deadlineMs: 60_000 });
  await close();
});

Deno.test("stream options are sizes of the camera's shape, and wrong ones change nothing", async () => {
  const { streams } = machine();
  const { resolutions } = await streams.getStreamOptions({ name: "front" });
  assert.deepEqual(resolutions.map(({ width, height }) => `${width}x${height}`), [
    ..."640x480 480x360 320x240 214x160 160x120".split(" "),
  ]);
  const set = (width: number, height: number) =>
    streams.setStreamOptions({ name: "front", resolution: { width, height } });
  await refuses(set(0, 480), Code.InvalidArgument, /resolution\.width is 0; an even number/);
  await refuses(set(640, 481), Code.InvalidArgument, /resolution\.height is 481/);
  await refuses(set(7680, 7680), Code.InvalidArgument, /has 58982400 pixels; 9437184 are allowed/);
  await refuses(set(320, 240), Code.FailedPrecondition, /ffmpeg is not installed/);
  await streams.setStreamOptions({ name: "front" });
});

Deno.test("every size that is listed can be set, also of a camera with many pixels", async () => {
  for (const [width, height, listed] of [[4000, 3000, 5], [8000, 6000, 3]] as const) {
    const { source, streams } = machine();
    Object.assign(source, { size: { width, height } });
    const set = (resolution: { width: number; height: number }) =>
      streams.setStreamOptions({ name: "front", resolution });
    const { resolutions } = await streams.getStreamOptions({ name: "front" });
    assert.equal(resolutions.length, listed);
    for (const { width, height } of resolutions) {
      await refuses(set({ width, height }), Code.FailedPrecondition, /ffmpeg is not installed/);
    }
    await refuses(set({ width: width - 2, height }), Code.InvalidArgument, /pixels|width/);
  }
});

Deno.test("an offer that fails late leaves the track that took its place", async () => {
  const viewer = peer();
  const late = Promise.withResolvers<VideoTrack>();
  const offers = [late.promise, Promise.resolve(viewer.track)];
  const own = { closed: viewer.own.closed, addVideo: () => offers.shift() } as unknown as RtcPeer;
  const { source, streams, close } = machine(own);
  const first = streams.addStream({ name: "front" });
  const failed = assert.rejects(first, /refused/);
  await waitFor(() => offers.length === 1, { deadlineMs: 60_000 });
  const removed = streams.removeStream({ name: "front" });
  await waitFor(async () => {
    // The removal has forgotten the first when this is a track of its own.
    await Promise.race([streams.addStream({ name: "front" }), Promise.resolve()]);
    return offers.length === 0;
  }, { deadlineMs: 60_000 });
  await waitFor(() => source.running === 1, { deadlineMs: 60_000 });
  late.reject(new ConnectError("refused", Code.FailedPrecondition));
  await Promise.all([failed, removed]);
  viewer.close("gone");
  await waitFor(() => source.running === 0, { deadlineMs: 60_000 });
  await close();
});

Deno.test("a machine sends so many videos, and says so to the next", async () => {
  const viewers = Array.from({ length: 129 }, peer);
  let calling = 0;
  const { streams, source, close } = machine(() => viewers[calling]!.own);
  for (; calling < 128; calling++) await streams.addStream({ name: "front" });
  await refuses(
    streams.addStream({ name: "front" }),
    Code.ResourceExhausted,
    /sends 128 videos already/,
  );
  viewers[0]!.close("gone");
  await waitFor(() => viewers[0]!.removed() === 1, { deadlineMs: 60_000 });
  await streams.addStream({ name: "front" });
  await waitFor(() => source.running === 1, { deadlineMs: 60_000 });
  await close();
});

Deno.test("many who ask for sizes look at the camera once", async () => {
  let looks = 0;
  const { streams } = machine(undefined, {
    async getImages() {
      looks++;
      await new Promise((resolve) => setTimeout(resolve));
      const image = Uint8Array.of(0x52, 0x47, 0x42, 0x41, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0);
      return { images: [{ mimeType: "image/vnd.viam.rgba", image }] };
    },
  });
  const asked = Array.from({ length: 100 }, () => streams.getStreamOptions({ name: "back" }));
  const [first] = await Promise.all(asked);
  assert.deepEqual(first!.resolutions.map(({ width }) => width), [2]);
  assert.equal(looks, 1);
});
