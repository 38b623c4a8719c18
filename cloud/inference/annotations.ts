import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  AnnotationsSchema,
  BoundingBoxSchema,
  ClassificationSchema,
} from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { OutputTensor } from "./inference_form.ts";

/** What is less likely than this says nothing. */
const LEAST_CONFIDENCE = 0.05;
const MOST_CLASSIFICATIONS = 10;
const MOST_BOXES = 100;

/**
 * What the outputs of a model mean: boxes where one holds four numbers each, else classes with
 * their probability, the likeliest first. Outputs of another form mean nothing here.
 */
export function annotationsOf(
  outputs: readonly OutputTensor[],
  labels: readonly string[],
): MessageInitShape<typeof AnnotationsSchema> {
  const boxes = outputs.find(({ name }) => isNamed(name, "location")) ??
    outputs.find(({ shape }) => shape.length === 3 && shape.at(-1) === 4);
  if (boxes) return { bboxes: boundingBoxes(boxes, outputs, labels) };
  const named = outputs.find(({ name }) => isNamed(name, "probability"));
  const only = outputs.length === 1 ? outputs[0] : undefined;
  const classes = named ?? only;
  if (!classes || classes.shape.length > 2 || classes.values.length < 2) return {};
  return { classifications: classifications(classes, labels) };
}

function classifications(
  output: OutputTensor,
  labels: readonly string[],
): MessageInitShape<typeof ClassificationSchema>[] {
  return probabilities(output)
    .map((confidence, index) => ({ label: labels[index] ?? String(index), confidence }))
    .filter(({ confidence }) => confidence >= LEAST_CONFIDENCE)
    .sort((a, b) => b.confidence - a.confidence)
    .slice(0, MOST_CLASSIFICATIONS)
    .map((one, index) => ({ id: String(index), ...one }));
}

/** Bytes stand for 0 to 1; numbers outside of that are the logarithms that models end with. */
function probabilities({ type, values }: OutputTensor): number[] {
  if (type === "uint8") return values.map((value) => value / 255);
  if (type === "int8") return values.map((value) => (value + 128) / 255);
  if (values.every((value) => value >= 0 && value <= 1)) return [...values];
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = values.map((value) => Math.exp(value - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function boundingBoxes(
  boxes: OutputTensor,
  outputs: readonly OutputTensor[],
  labels: readonly string[],
): MessageInitShape<typeof BoundingBoxSchema>[] {
  const total = Math.floor(boxes.values.length / 4);
  const others = outputs.filter((output) => output !== boxes && output.values.length === total);
  const scores = others.find(({ name }) => isNamed(name, "score")) ??
    others.find(({ values }) => values.some((value) => !Number.isInteger(value)));
  const categories = others.find(({ name }) => isNamed(name, "category")) ??
    others.find((output) => output !== scores);
  const counted = outputs.find(({ name, values }) => isNamed(name, "count") && values.length === 1);
  const count = Math.min(total, counted?.values[0] ?? total, MOST_BOXES);
  const found: MessageInitShape<typeof BoundingBoxSchema>[] = [];
  for (let index = 0; index < count; index++) {
    const confidence = scores?.values[index];
    if (confidence !== undefined && confidence < LEAST_CONFIDENCE) continue;
    const category = Math.round(categories?.values[index] ?? 0);
    const [yMin = 0, xMin = 0, yMax = 0, xMax = 0] = boxes.values
      .slice(index * 4, index * 4 + 4).map((value) => Math.min(Math.max(value, 0), 1));
    found.push({
      id: String(index),
      label: labels[category] ?? String(category),
      xMinNormalized: xMin,
      yMinNormalized: yMin,
      xMaxNormalized: xMax,
      yMaxNormalized: yMax,
      ...(confidence !== undefined && { confidence }),
    });
  }
  return found;
}

/** Tools put the name of their step before it. */
function isNamed(name: string, word: string): boolean {
  return name.toLowerCase().includes(word);
}
