/** For models of cameras: what one implements whose images come encoded. */
export type {
  EncodedCamera,
  EncodedFrame,
  EncodedVideo,
  VideoCodec,
} from "../../resources/video/encoded_source.ts";
