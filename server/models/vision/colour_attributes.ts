export interface ColourAttributes {
  /** Red, green and blue, 0 to 255. */
  detect_color: number[];
  hue_tolerance_pct: number;
  segment_size_px: number;
  saturation_cutoff_pct: number | undefined;
  value_cutoff_pct: number | undefined;
  label: string | undefined;
  camera_name: string | undefined;
}
