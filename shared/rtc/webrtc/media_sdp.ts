/** Sections of session descriptions (RFC 8866) for video that this side sends. Pure. */
import type { LocalDescription } from "./data_channel_sdp.ts";
import type { VideoCodec } from "./video.ts";

/** What a section carries at the moment. */
export interface SentVideo {
  readonly streamId: string;
  readonly ssrc: number;
  readonly codecs: readonly VideoCodec[];
}

interface Format {
  readonly payloadType: number;
  readonly codec: VideoCodec;
  readonly parameters?: string;
}

/**
 * H.264 in the profiles that browsers decode, the plainest first. Levels are no promise: browsers
 * decode what comes.
 */
const FORMATS: readonly Format[] = [
  ...["42e01f", "4d001f", "64001f"].map((profile, index) => ({
    payloadType: 102 + index * 2,
    codec: "H264" as const,
    parameters: `level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=${profile}`,
  })),
  { payloadType: 96, codec: "VP8" },
];
const FEEDBACK = ["nack", "nack pli", "ccm fir"];

function formatsOf(codecs: readonly VideoCodec[]): Format[] {
  return codecs.flatMap((codec) => FORMATS.filter((format) => format.codec === codec));
}

/** The section's lines; of one that carries nothing (any more) those that keep its place. */
export function videoSection(
  mid: string,
  video: SentVideo | undefined,
  local: LocalDescription,
  only?: number,
): string[] {
  const formats = formatsOf(video?.codecs ?? ["VP8"])
    .filter(({ payloadType }) => only === undefined || payloadType === only);
  return [
    `m=video 9 UDP/TLS/RTP/SAVPF ${formats.map(({ payloadType }) => payloadType).join(" ")}`,
    "c=IN IP4 0.0.0.0",
    `a=mid:${mid}`,
    `a=ice-ufrag:${local.ufrag}`,
    `a=ice-pwd:${local.password}`,
    `a=fingerprint:${local.fingerprint.algorithm} ${local.fingerprint.value}`,
    `a=setup:${local.setup}`,
    "a=rtcp-mux",
    "a=rtcp-rsize",
    video ? "a=sendonly" : "a=inactive",
    ...formats.flatMap(({ payloadType, codec, parameters }) => [
      `a=rtpmap:${payloadType} ${codec}/90000`,
      ...(parameters === undefined ? [] : [`a=fmtp:${payloadType} ${parameters}`]),
      ...FEEDBACK.map((kind) => `a=rtcp-fb:${payloadType} ${kind}`),
    ]),
    ...(video
      ? [
        `a=msid:${video.streamId} ${video.streamId}-video`,
        `a=ssrc:${video.ssrc} cname:machine`,
        `a=ssrc:${video.ssrc} msid:${video.streamId} ${video.streamId}-video`,
      ]
      : []),
  ];
}

/** The first format that a peer took, of an answer's line: "102 96". */
export function takenFormat(
  formats: string,
  codecs: readonly VideoCodec[],
): { codec: VideoCodec; payloadType: number } | undefined {
  const offered = formatsOf(codecs);
  for (const text of formats.split(" ")) {
    const found = offered.find(({ payloadType }) => String(payloadType) === text);
    if (found) return { codec: found.codec, payloadType: found.payloadType };
  }
  return undefined;
}
