export interface MlModelAttributes {
  model_path: string;
  label_path: string | undefined;
  num_threads: number | undefined;
  package_reference: string | undefined;
}
