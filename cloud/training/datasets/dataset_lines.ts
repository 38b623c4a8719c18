import { ModelType } from "../../../shared/gen/viam/app/mltraining/v1/ml_training_pb.ts";
import { binaryDataId } from "../../data/ingest/binary_ids.ts";
import { isoText } from "../../data/ingest/times.ts";

/** For whom a dataset is written. */
export type DatasetForm =
  /** Every file, with all that is known of it. */
  | { readonly kind: "custom" }
  /** Images only, with the labels that were requested. */
  | { readonly kind: "managed"; readonly modelType: ModelType; readonly tags: readonly string[] };

/** Something that somebody or something saw in a file. */
export interface FileAnnotation {
  readonly id: string;
  readonly kind: "box" | "classification";
  readonly label: string;
  readonly confidence: number | null;
  readonly x_min: number;
  readonly y_min: number;
  readonly x_max: number;
  readonly y_max: number;
}

/** One file of a dataset. */
export interface DatasetFile {
  readonly id: string;
  readonly org_id: string;
  readonly location_id: string;
  readonly machine_id: string;
  readonly part_id: string;
  readonly component_name: string;
  /** Microseconds since 1970. */
  readonly requested_us: number;
  readonly tags: readonly string[];
  readonly annotations: readonly FileAnnotation[];
}

interface Label {
  readonly annotation_label: string;
  readonly confidence?: number;
}

/**
 * The line of a file in the dataset file of a custom job. Tags are labels of the whole image, too.
 *
 * @param path of the file, relative to the dataset's folder.
 */
export function customLine(file: DatasetFile, path: string): string {
  return JSON.stringify({
    image_path: path,
    classification_annotations: labelsOf(file),
    bounding_box_annotations: boxesOf(file),
    binary_data_id: binaryDataId(file, file.id),
    timestamp: timeText(file.requested_us),
    robot_id: file.machine_id || undefined,
    part_id: file.part_id,
    component_name: file.component_name,
    organization_id: file.org_id || undefined,
    location_id: file.location_id || undefined,
  });
}

/**
 * The line of an image in the dataset file of a managed job: only labels that were requested, none
 * when it has none of them. Undefined for an image that has several where a model gives one.
 */
export function managedLine(
  file: DatasetFile,
  path: string,
  { modelType, tags }: { readonly modelType: ModelType; readonly tags: readonly string[] },
): string | undefined {
  const isWanted = (label: Label) => tags.includes(label.annotation_label);
  const isDetection = modelType === ModelType.OBJECT_DETECTION;
  const labels = isDetection ? [] : labelsOf(file).filter(isWanted);
  if (modelType === ModelType.SINGLE_LABEL_CLASSIFICATION && labels.length > 1) return undefined;
  return JSON.stringify({
    image_path: path,
    classification_annotations: labels.map(({ annotation_label }) => ({ annotation_label })),
    bounding_box_annotations: isDetection ? boxesOf(file).filter(isWanted) : [],
  });
}

function labelsOf({ tags, annotations }: DatasetFile): Label[] {
  const confidences = new Map<string, number | null>(tags.map((tag) => [tag, null]));
  for (const { kind, label, confidence } of annotations) {
    if (kind === "classification") confidences.set(label, confidence);
  }
  return [...confidences].map(([annotation_label, confidence]) => ({
    annotation_label,
    ...(confidence === null ? {} : { confidence }),
  }));
}

function boxesOf({ annotations }: DatasetFile) {
  return annotations.filter(({ kind }) => kind === "box").map((box) => ({
    id: box.id,
    annotation_label: box.label,
    x_min_normalized: box.x_min,
    x_max_normalized: box.x_max,
    y_min_normalized: box.y_min,
    y_max_normalized: box.y_max,
    ...(box.confidence === null ? {} : { confidence: box.confidence }),
  }));
}

/** `2026-01-02 03:04:05.6789 +0000 UTC`: scripts that exist read this form. */
function timeText(us: number): string {
  const [date = "", time = ""] = isoText(us).split("T");
  return `${date} ${time.replace(/\.?0*Z$/, "")} +0000 UTC`;
}
