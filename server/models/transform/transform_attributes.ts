/** A lens, in pixels. */
export interface IntrinsicParameters {
  width_px: number;
  height_px: number;
  fx: number;
  fy: number;
  ppx: number;
  ppy: number;
}

/** How a lens bends what it shows, by Brown and Conrady. */
export interface DistortionParameters {
  rk1: number | undefined;
  rk2: number | undefined;
  rk3: number | undefined;
  tp1: number | undefined;
  tp2: number | undefined;
}

export const STEP_TYPES = [
  ...["identity", "resize", "crop", "rotate", "undistort", "detections"] as const,
  ...["classifications", "depth_to_pretty", "overlay", "depth_edges", "depth_preprocess"] as const,
] as const;

/** What a step of each type reads; which of them it needs is checked when the camera is built. */
export interface StepAttributes {
  width_px: number | undefined;
  height_px: number | undefined;
  x_min_px: number | undefined;
  y_min_px: number | undefined;
  x_max_px: number | undefined;
  y_max_px: number | undefined;
  overlay_crop_box: boolean | undefined;
  angle_degs: number | undefined;
  detector_name: string | undefined;
  classifier_name: string | undefined;
  confidence_threshold: number | undefined;
  max_classifications: number | undefined;
  valid_labels: string[] | undefined;
  intrinsic_parameters: IntrinsicParameters | undefined;
  distortion_parameters: DistortionParameters | undefined;
}

export interface PipelineStep {
  type: typeof STEP_TYPES[number];
  attributes: StepAttributes | undefined;
}

export interface TransformAttributes {
  source: string;
  pipeline: PipelineStep[];
  intrinsic_parameters: IntrinsicParameters | undefined;
  distortion_parameters: DistortionParameters | undefined;
}
