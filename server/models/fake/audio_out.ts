import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { AudioInfo } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { AudioOutService } from "../../../shared/gen/viam/component/audioout/v1/audioout_pb.ts";
import { anyAttributes } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import { AUDIO_CODECS, CHANNELS, checkedCodec, SAMPLE_RATE_HZ } from "./audio_format.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Model `rdk:builtin:fake` of `rdk:component:audio_out`: counts what it is given, in no time. */
export const fakeAudioOutModel: Model<JsonObject> = {
  api: "rdk:component:audio_out",
  model: "rdk:builtin:fake",
  triedWith: TRIED_WITH,
  attributes: anyAttributes,
  construct({ log }): Driver<typeof AudioOutService> {
    let playedBytes = 0;
    const play = (bytes: number, info: AudioInfo | undefined) => {
      playedBytes += bytes;
      log.debug("played", { bytes, codec: info?.codec ?? "" });
      return {};
    };
    return {
      play({ audioData, audioInfo }) {
        checkedCodec(audioInfo?.codec ?? "");
        return play(audioData.length, audioInfo);
      },
      async playStream(requests) {
        let info: AudioInfo | undefined;
        let bytes = 0;
        let isFirst = true;
        for await (const { payload } of requests) {
          if (isFirst !== (payload.case === "init")) throw misplaced();
          isFirst = false;
          if (payload.case === "init") {
            info = payload.value.audioInfo;
            checkedCodec(info?.codec ?? "");
          } else if (payload.case === "audioChunk") bytes += payload.value.audioData.length;
        }
        return play(bytes, info);
      },
      getProperties: () => ({
        supportedCodecs: [...AUDIO_CODECS],
        sampleRateHz: SAMPLE_RATE_HZ,
        numChannels: CHANNELS,
      }),
      doCommand: echo,
      getStatus: () => ({ played_bytes: playedBytes }),
    };
  },
};

function misplaced(): ConnectError {
  return new ConnectError(
    "the first message of the stream must be init, and all others audio_chunk",
    Code.InvalidArgument,
  );
}
