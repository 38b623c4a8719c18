import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AnnotationsSchema } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { findingsOf } from "../../shared/inference/findings.ts";
import type { OutputTensor } from "../../shared/inference/tensors.ts";

/** What is less likely than this says nothing. */
const LEAST_CONFIDENCE = 0.05;
const MOST_CLASSIFICATIONS = 10;
const MOST_BOXES = 100;

/** What the outputs of a model mean, as annotations of the image. */
export function annotationsOf(
  outputs: readonly OutputTensor[],
  labels: readonly string[],
): MessageInitShape<typeof AnnotationsSchema> {
  const found = findingsOf(outputs, labels, { least: LEAST_CONFIDENCE, most: MOST_BOXES });
  switch (found.kind) {
    case "nothing":
      return {};
    case "boxes":
      return {
        bboxes: found.boxes.map(({ label, confidence, xMin, yMin, xMax, yMax }, index) => ({
          ...{ id: String(index), label, ...(confidence !== undefined && { confidence }) },
          ...{ xMinNormalized: xMin, yMinNormalized: yMin },
          ...{ xMaxNormalized: xMax, yMaxNormalized: yMax },
        })),
      };
    case "classes":
      return {
        classifications: found.classes.slice(0, MOST_CLASSIFICATIONS)
          .map((one, index) => ({ id: String(index), ...one })),
      };
  }
}
