import { join } from "node:path";
import { ROOT } from "../../tools/programs.ts";
import type { Shape, ShapeImage } from "./shapes.ts";

const SCRIPT = join(ROOT, "tests", "training", "run_model.py");
/** Overlap from which a box is right. */
const ENOUGH_OVERLAP = 0.5;
const SURE_ENOUGH = 0.3;
/** Numbers of one box. */
const BOX = 4;

/** What a model said about images. */
export interface ModelAnswers {
  readonly outputs: readonly { readonly name: string; readonly shape: readonly number[] }[];
  /** By image, then by output, flattened. */
  readonly results: readonly (readonly (readonly number[])[])[];
}

/** Runs a model with the runtime that machines have. */
export async function runModel(
  python: string,
  file: string,
  pictures: readonly ShapeImage[],
): Promise<ModelAnswers> {
  const child = new Deno.Command(python, {
    args: [SCRIPT, file, String(pictures[0]?.side)],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  for (const { rgb } of pictures) await writer.write(rgb);
  await writer.close();
  const { success, stdout, stderr } = await output;
  if (!success) throw new Error(`run_model.py failed:\n${new TextDecoder().decode(stderr)}`);
  return JSON.parse(new TextDecoder().decode(stdout));
}

/** Share of images of one shape whose label is the most probable one. */
export function singleAccuracy(
  { results }: ModelAnswers,
  labels: readonly string[],
  pictures: readonly ShapeImage[],
): number {
  const right = pictures.filter(({ shapes: [shape] }, at) => {
    const [probabilities = []] = results[at] ?? [];
    return labels[probabilities.indexOf(Math.max(...probabilities))] === shape?.label;
  });
  return right.length / pictures.length;
}

/** Share of right answers to "is this label in this image?". */
export function multiAccuracy(
  { results }: ModelAnswers,
  labels: readonly string[],
  pictures: readonly ShapeImage[],
): number {
  const answers = pictures.flatMap(({ shapes }, at) =>
    labels.map((label, index) => {
      const isThere = shapes.some((shape) => shape.label === label);
      return ((results[at]?.[0]?.[index] ?? 0) > 0.5) === isThere;
    })
  );
  return answers.filter(Boolean).length / answers.length;
}

/** Share of shapes that were found, and of boxes that were right. */
export function detectionQuality(
  { results }: ModelAnswers,
  labels: readonly string[],
  pictures: readonly ShapeImage[],
): { recall: number; precision: number } {
  let found = 0, boxes = 0, there = 0;
  for (const [at, { shapes }] of pictures.entries()) {
    const [locations = [], categories = [], scores = [], [count = 0] = []] = results[at] ?? [];
    const left = [...shapes];
    there += shapes.length;
    for (let row = 0; row < count; row++) {
      if ((scores[row] ?? 0) < SURE_ENOUGH) continue;
      boxes++;
      const [yMin = 0, xMin = 0, yMax = 0, xMax = 0] = locations.slice(row * BOX, row * BOX + BOX);
      const label = labels[categories[row] ?? -1] as Shape["label"];
      const hit = left.findIndex((shape) =>
        shape.label === label && overlap(shape, { label, xMin, yMin, xMax, yMax }) >= ENOUGH_OVERLAP
      );
      if (hit === -1) continue;
      left.splice(hit, 1);
      found++;
    }
  }
  return { recall: found / there, precision: boxes === 0 ? 0 : found / boxes };
}

function overlap(one: Shape, other: Shape): number {
  const width = Math.min(one.xMax, other.xMax) - Math.max(one.xMin, other.xMin);
  const height = Math.min(one.yMax, other.yMax) - Math.max(one.yMin, other.yMin);
  const shared = Math.max(0, width) * Math.max(0, height);
  return shared / (area(one) + area(other) - shared);
}

function area({ xMin, yMin, xMax, yMax }: Shape): number {
  return (xMax - xMin) * (yMax - yMin);
}
