/** What a camera offers whose frames come encoded: they go to viewers as they are. */

/** How video is encoded that browsers take over WebRTC. */
export type VideoCodec = "H264" | "VP8";

/** One frame, encoded. */
export interface EncodedFrame {
  /**
   * H.264: one access unit in Annex B form (start codes), with SPS and PPS before each IDR frame.
   * VP8: one frame.
   */
  readonly data: Uint8Array;
  /** Decoding can begin with it. */
  readonly isKeyframe: boolean;
}

/** Encoded video of a camera. */
export interface EncodedVideo {
  readonly codec: VideoCodec;
  /** Pixels, where they are known. */
  readonly size?: { readonly width: number; readonly height: number };
  /**
   * The frames as they are taken, without B-frames: in the order in which they are shown. Begins
   * with the first `next()` and ends, with all that it holds, when `signal` aborts or the loop is
   * left. Only one runs at a time; all viewers share it.
   *
   * @throws what keeps it from going on, in words for the user; it is begun again with pauses.
   */
  frames(signal: AbortSignal): AsyncIterable<EncodedFrame>;
  /** Requests a keyframe soon, where that can be had. Viewers wait for the next one otherwise. */
  requestKeyframe?(): void;
}

/** A camera's driver may have this method next to those of the camera API. */
export interface EncodedCamera {
  /** Undefined while the camera gives no encoded video; its images are encoded here then. */
  encodedVideo(): EncodedVideo | undefined;
}

/** Whether a driver may have encoded video. */
export function isEncodedCamera(resource: object): resource is EncodedCamera {
  return typeof (resource as Partial<EncodedCamera>).encodedVideo === "function";
}
