export interface SegmenterAttributes {
  detector_name: string;
  confidence_threshold_pct: number | undefined;
  sigma: number | undefined;
  camera_name: string | undefined;
}
