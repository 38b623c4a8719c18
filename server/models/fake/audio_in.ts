import type {
  AudioInService,
  GetAudioRequest,
} from "../../../shared/gen/viam/component/audioin/v1/audioin_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { attributes, number, optional } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { AUDIO_CODECS, CHANNELS, checkedCodec, SAMPLE_RATE_HZ, sineWave } from "./audio_format.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Length of a chunk. Milliseconds. */
const CHUNK_MS = 100;

/** How far back sound can be requested. Milliseconds. */
const KEPT_MS = 10_000;

const NS_PER_MS = 1_000_000n;

export interface FakeAudioInAttributes {
  frequency_hz: number | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:audio_in`: records one tone. */
export function fakeAudioInModel({ clock }: { clock: Clock }): Model<FakeAudioInAttributes> {
  return {
    api: "rdk:component:audio_in",
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: attributes<FakeAudioInAttributes>({
      frequency_hz: optional(
        number("Pitch of the tone. Default 440.", { min: 1, max: SAMPLE_RATE_HZ / 2 }),
      ),
    }),
    construct: ({ attributes }): Driver<typeof AudioInService> => ({
      getAudio: (request, call) => tone(clock, attributes.frequency_hz ?? 440, request, call),
      getProperties: () => ({
        supportedCodecs: [...AUDIO_CODECS],
        sampleRateHz: SAMPLE_RATE_HZ,
        numChannels: CHANNELS,
      }),
      doCommand: echo,
    }),
  };
}

/** Chunks as a microphone would give them; those of the past come at once. */
async function* tone(
  clock: Clock,
  hertz: number,
  request: GetAudioRequest,
  { signal }: CallContext,
) {
  const codec = checkedCodec(request.codec);
  const now = clock.now().getTime();
  const previousMs = Number(request.previousTimestampNanoseconds / NS_PER_MS);
  const beginMs = previousMs > 0 ? Math.max(previousMs, now - KEPT_MS) : now;
  const endMs = request.durationSeconds > 0 ? beginMs + request.durationSeconds * 1_000 : Infinity;
  const samples = (ms: number) => Math.round(ms * SAMPLE_RATE_HZ / 1_000);
  for (let sequence = 0; !signal.aborted; sequence++) {
    const fromMs = beginMs + sequence * CHUNK_MS;
    const toMs = Math.min(fromMs + CHUNK_MS, endMs);
    if (fromMs >= endMs) return;
    const wait = toMs - clock.now().getTime();
    if (wait > 0) await clock.sleep(wait, signal);
    const first = samples(fromMs - beginMs);
    yield {
      requestId: request.requestId,
      audio: {
        audioData: sineWave(codec, hertz, first, samples(toMs - beginMs) - first),
        audioInfo: { codec, sampleRateHz: SAMPLE_RATE_HZ, numChannels: CHANNELS },
        startTimestampNanoseconds: BigInt(Math.round(fromMs)) * NS_PER_MS,
        endTimestampNanoseconds: BigInt(Math.round(toMs)) * NS_PER_MS,
        sequence,
      },
    };
  }
}
