/** For models of cameras: what one implements whose pictures come encoded. */
export type {
  EncodedCamera,
  EncodedFrame,
  EncodedVideo,
  VideoCodec,
} from "../../resources/video/encoded_source.ts";
