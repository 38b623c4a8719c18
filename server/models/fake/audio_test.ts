import assert from "node:assert/strict";
import type { Driver } from "../../resources/graph/driver.ts";
import type { AudioInService } from "../../../shared/gen/viam/component/audioin/v1/audioin_pb.ts";
import type {
  AudioOutService,
  PlayStreamRequest,
} from "../../../shared/gen/viam/component/audioout/v1/audioout_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { construct, testCall } from "../testing.ts";
import { sineWave } from "./audio_format.ts";
import { fakeAudioInModel } from "./audio_in.ts";
import { fakeAudioOutModel } from "./audio_out.ts";

type Microphone = Driver<typeof AudioInService>;
type Speaker = Driver<typeof AudioOutService>;

const request = (fields = {}) => ({
  $typeName: "viam.component.audioin.v1.GetAudioRequest" as const,
  name: "m",
  durationSeconds: 0,
  codec: "",
  requestId: "r",
  previousTimestampNanoseconds: 0n,
  ...fields,
});

async function listen(fields: object, advanceMs: number, signal?: AbortSignal) {
  const clock = new FakeClock();
  const microphone = await construct<Microphone, unknown>(fakeAudioInModel({ clock }));
  const chunks: { bytes: number; sequence: number; from: bigint }[] = [];
  const listening = (async () => {
    for await (const { audio } of microphone.getAudio!(request(fields), testCall(signal))) {
      chunks.push({
        bytes: audio!.audioData!.length,
        sequence: audio!.sequence!,
        from: audio!.startTimestampNanoseconds!,
      });
    }
  })();
  await clock.advance(advanceMs);
  return { clock, chunks, listening };
}

Deno.test("getAudio() gives chunks of 100 ms as they are heard, and ends in time", async () => {
  const early = await listen({ durationSeconds: 0.25 }, 150);
  assert.equal(early.chunks.length, 1);
  await early.clock.advance(100);
  await early.listening;
  const all = await listen({ durationSeconds: 0.25 }, 250);
  await all.listening;
  assert.deepEqual(all.chunks.map(({ bytes, sequence }) => [bytes, sequence]), [
    [8_820, 0],
    [8_820, 1],
    [4_410, 2],
  ]);
  assert.equal(all.chunks[1]!.from - all.chunks[0]!.from, 100_000_000n);
});

Deno.test("getAudio() gives sound of the past at once, as far back as it is kept", async () => {
  const before = BigInt(new Date("2026-01-02T03:04:03.000Z").getTime()) * 1_000_000n;
  const { chunks, listening } = await listen(
    { durationSeconds: 2, previousTimestampNanoseconds: before },
    0,
  );
  await listening;
  assert.equal(chunks.length, 20);
  assert.equal(chunks[0]!.from, before);
});

Deno.test("getAudio() ends without a timer left when its caller leaves", async () => {
  const caller = new AbortController();
  const { clock, chunks, listening } = await listen({}, 320, caller.signal);
  assert.equal(chunks.length, 3);
  caller.abort(new Error("gone"));
  await assert.rejects(listening, /gone/);
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("getAudio() names the codecs there are when one is not known", async () => {
  const microphone = await construct<Microphone, unknown>(
    fakeAudioInModel({ clock: new FakeClock() }),
  );
  const chunks = microphone.getAudio!(request({ codec: "mp3" }), testCall());
  await assert.rejects(
    chunks[Symbol.asyncIterator]().next(),
    /codec mp3 is not known; use one of pcm16, pcm32, pcm32_float/,
  );
});

Deno.test("sineWave() swings with the pitch in every codec", () => {
  const quarter = 44_100 / 441 / 4;
  const read = {
    pcm16: (view: DataView, n: number) => view.getInt16(n * 2, true) / 0x7fff,
    pcm32: (view: DataView, n: number) => view.getInt32(n * 4, true) / 0x7fffffff,
    pcm32_float: (view: DataView, n: number) => view.getFloat32(n * 4, true),
  };
  for (const [codec, sample] of Object.entries(read)) {
    const view = new DataView(sineWave(codec, 441, 0, 100).buffer);
    const found = [0, 1, 2, 3].map((n) => Number(sample(view, n * quarter).toFixed(3)) + 0);
    assert.deepEqual(found, [0, 0.5, 0, -0.5], codec);
  }
});

Deno.test("playStream() counts all chunks and refuses a stream without init", async () => {
  const speaker = await construct<Speaker, unknown>(fakeAudioOutModel);
  const message = (payload: PlayStreamRequest["payload"]): PlayStreamRequest => ({
    $typeName: "viam.component.audioout.v1.PlayStreamRequest",
    payload,
  });
  const chunk = message({
    case: "audioChunk",
    value: {
      $typeName: "viam.component.audioout.v1.PlayStreamChunk",
      audioData: new Uint8Array(5),
    },
  });
  const init = message({
    case: "init",
    value: { $typeName: "viam.component.audioout.v1.PlayStreamInit", name: "s" },
  });
  const stream = async function* (messages: PlayStreamRequest[]) {
    yield* messages;
  };
  await speaker.playStream!(stream([init, chunk, chunk]), testCall());
  assert.deepEqual(await speaker.getStatus!(testCall()), { played_bytes: 10 });
  for (const wrong of [[chunk], [init, init]]) {
    await assert.rejects(
      async () => await speaker.playStream!(stream(wrong), testCall()),
      /first message of the stream must be init/,
    );
  }
});
