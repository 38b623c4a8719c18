/** Video that this side sends over a connection, without the library that carries it. */

/** How video is encoded; what all browsers take. */
export type VideoCodec = "H264" | "VP8";

/** One encoded image. */
export interface VideoFrame {
  /** H.264: one access unit in Annex B form. VP8: one frame. */
  readonly data: Uint8Array;
  /** When it was taken, in milliseconds since some fixed point; later ones have more. */
  readonly atMs: number;
}

/** What is offered to the peer. */
export interface VideoOffer {
  /** Id of the stream that the peer sees; no spaces. */
  readonly streamId: string;
  /** The best first; the peer chooses the first one that it takes. */
  readonly codecs: readonly VideoCodec[];
}

/** A track that the peer has taken. */
export interface VideoTrack {
  readonly codec: VideoCodec;
  /** The peer cannot decode anything without a keyframe. */
  onKeyframeWanted: () => void;
  /** Sends an image; lost when the connection is. */
  send(frame: VideoFrame): void;
  /** Takes the track away from the peer. */
  remove(): void;
}
