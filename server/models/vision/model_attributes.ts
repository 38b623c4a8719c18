export interface ModelVisionAttributes {
  mlmodel_name: string;
  camera_name: string | undefined;
  default_minimum_confidence: number | undefined;
  label_confidences: Record<string, number> | undefined;
  label_path: string | undefined;
  remap_input_names: Record<string, string> | undefined;
  remap_output_names: Record<string, string> | undefined;
  xmin_ymin_xmax_ymax_order: number[] | undefined;
  input_image_mean_value: number[] | undefined;
  input_image_std_dev: number[] | undefined;
  input_image_bgr: boolean | undefined;
}
