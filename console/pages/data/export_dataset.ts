import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { BinaryMetadata } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { padding, tarEnd, tarHeader } from "./tar.ts";

/** The line of a file in `dataset.jsonl`, in the form that training scripts are given. */
function datasetLine(metadata: BinaryMetadata, path: string): string {
  const { annotations, captureMetadata: from, timeRequested } = metadata;
  const labels = [
    ...(from?.tags ?? []).map((tag) => ({ annotation_label: tag })),
    ...(annotations?.classifications ?? []).map(({ label, confidence }) => ({
      annotation_label: label,
      ...(confidence === undefined ? {} : { confidence }),
    })),
  ];
  return JSON.stringify({
    image_path: path,
    classification_annotations: labels,
    bounding_box_annotations: (annotations?.bboxes ?? []).map((box) => ({
      id: box.id,
      annotation_label: box.label,
      x_min_normalized: box.xMinNormalized,
      x_max_normalized: box.xMaxNormalized,
      y_min_normalized: box.yMinNormalized,
      y_max_normalized: box.yMaxNormalized,
      ...(box.confidence === undefined ? {} : { confidence: box.confidence }),
    })),
    binary_data_id: metadata.binaryDataId,
    timestamp: timeRequested && timestampDate(timeRequested).toISOString(),
    robot_id: from?.robotId || undefined,
    part_id: from?.partId || undefined,
    component_name: from?.componentName || undefined,
  });
}

/** A name within the archive, of the last piece of the id: letters, digits, `-`, `_` and `.`. */
function fileName({ binaryDataId, fileExt }: BinaryMetadata): string {
  const id = binaryDataId.split("/").at(-1) ?? "";
  return `data/${(id + fileExt).replaceAll(/[^\w.-]/g, "_").slice(0, 90)}`;
}

export interface DatasetExport {
  /** All files of the dataset, in the order of the archive. */
  readonly files: AsyncIterable<BinaryMetadata>;
  readonly load: (metadata: BinaryMetadata) => Promise<Uint8Array>;
  readonly progress: (files: number, bytes: number) => void;
}

/** A dataset as a tar archive: the files below `data/`, and `dataset.jsonl`. */
export async function exportDataset({ files, load, progress }: DatasetExport): Promise<Blob> {
  const parts: BlobPart[] = [];
  const lines: string[] = [];
  let [count, size] = [0, 0];
  const add = (name: string, bytes: Uint8Array, time: Date) => {
    const header = tarHeader(name, bytes.length, Math.floor(time.getTime() / 1_000));
    // A Blob of its own lets the browser put it on the disk.
    parts.push(new Blob([header, new Uint8Array(bytes), padding(bytes.length)]));
  };
  for await (const metadata of files) {
    const bytes = await load(metadata);
    const name = fileName(metadata);
    const time = metadata.timeRequested;
    add(name, bytes, time ? timestampDate(time) : new Date(0));
    lines.push(datasetLine(metadata, name) + "\n");
    progress(++count, size += bytes.length);
  }
  add("dataset.jsonl", new TextEncoder().encode(lines.join("")), new Date());
  return new Blob([...parts, tarEnd()], { type: "application/x-tar" });
}
