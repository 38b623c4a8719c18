export interface RtspAttributes {
  rtsp_address: string;
  frame_rate: number | undefined;
  transport: "tcp" | "udp" | undefined;
  rtp_passthrough: boolean | undefined;
}

export interface WebcamAttributes {
  video_path: string | undefined;
  width_px: number | undefined;
  height_px: number | undefined;
  frame_rate: number | undefined;
  format: string | undefined;
  controls: Record<string, number> | undefined;
}

export interface ScreenAttributes {
  display: string | undefined;
  x_px: number | undefined;
  y_px: number | undefined;
  width_px: number | undefined;
  height_px: number | undefined;
  frame_rate: number | undefined;
}
