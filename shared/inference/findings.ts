import type { NumberType, OutputTensor } from "./tensors.ts";

/** A thing that a model found. */
export interface FoundBox {
  readonly label: string;
  /** From 0 to 1; left out where the model gives none. */
  readonly confidence?: number;
  /** Shares of the image's width and height, from 0 to 1. */
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
}

/** A word for the whole image. */
export interface FoundClass {
  readonly label: string;
  /** From 0 to 1. */
  readonly confidence: number;
}

/** What the outputs of a model mean; outputs of another form mean nothing here. */
export type Findings =
  | { readonly kind: "boxes"; readonly boxes: FoundBox[] }
  | { readonly kind: "classes"; readonly classes: FoundClass[] }
  | { readonly kind: "nothing" };

export interface FindingsOptions {
  /** What is less likely is left out. */
  readonly least: number;
  readonly most: number;
  /** At which of a box's four numbers xMin, yMin, xMax and yMax stand. Default 1, 0, 3, 2. */
  readonly boxOrder?: readonly number[];
}

/**
 * Boxes where an output holds four numbers each, else classes with their probability, the
 * likeliest first. Outputs are known by their names (`location`, `category`, `score`, `count`,
 * `probability`; tools put the name of their step before it), else by their form.
 */
export function findingsOf(
  outputs: readonly OutputTensor[],
  labels: readonly string[],
  options: FindingsOptions,
): Findings {
  const located = locationOf(outputs);
  if (located) {
    return { kind: "boxes", boxes: boundingBoxes(located, outputs, labels, options) };
  }
  const named = outputs.find(({ name }) => isNamed(name, "probability"));
  const classes = named ?? (outputs.length === 1 ? outputs[0] : undefined);
  if (!classes || classes.shape.length > 2 || classes.values.length < 2) return { kind: "nothing" };
  return { kind: "classes", classes: classesIn(classes, labels, options) };
}

/** The output that holds boxes. */
function locationOf<T extends { readonly name: string; readonly shape: readonly number[] }>(
  outputs: readonly T[],
): T | undefined {
  return outputs.find(({ name }) => isNamed(name, "location")) ??
    outputs.find(({ shape }) => shape.length === 3 && shape.at(-1) === 4);
}

/** Whether a model with these outputs finds boxes. */
export function findsBoxes(
  outputs: readonly { readonly name: string; readonly shape: readonly number[] }[],
): boolean {
  return locationOf(outputs) !== undefined;
}

/** Whether a model with these outputs classifies. */
export function findsClasses(
  outputs: readonly { readonly name: string; readonly shape: readonly number[] }[],
): boolean {
  if (findsBoxes(outputs)) return false;
  return outputs.length === 1 || outputs.some(({ name }) => isNamed(name, "probability"));
}

function classesIn(
  output: OutputTensor,
  labels: readonly string[],
  { least, most }: FindingsOptions,
): FoundClass[] {
  return probabilities(output)
    .map((confidence, index) => ({ label: labels[index] ?? String(index), confidence }))
    .filter(({ confidence }) => confidence >= least)
    .sort((a, b) => b.confidence - a.confidence)
    .slice(0, most);
}

/** Bytes stand for 0 to 1; numbers outside of that are the logarithms that models end with. */
function probabilities({ type, values }: OutputTensor): number[] {
  const numbers = Array.from(values);
  if (isOfBytes(type)) return numbers.map((value) => confidenceOf(type, value));
  if (numbers.every((value) => value >= 0 && value <= 1)) return numbers;
  const most = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = numbers.map((value) => Math.exp(value - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

function isOfBytes(type: NumberType): boolean {
  return type === "uint8" || type === "int8";
}

function confidenceOf(type: NumberType, value: number): number {
  return type === "uint8" ? value / 255 : type === "int8" ? (value + 128) / 255 : value;
}

function boundingBoxes(
  boxes: OutputTensor,
  outputs: readonly OutputTensor[],
  labels: readonly string[],
  { least, most, boxOrder = [1, 0, 3, 2] }: FindingsOptions,
): FoundBox[] {
  const total = Math.floor(boxes.values.length / 4);
  const others = outputs.filter((output) => output !== boxes && output.values.length === total);
  const scores = others.find(({ name }) => isNamed(name, "score")) ??
    others.find(({ values }) => Array.from(values).some((value) => !Number.isInteger(value)));
  const categories = others.find(({ name }) => isNamed(name, "category")) ??
    others.find((output) => output !== scores);
  const counted = outputs.find(({ name, values }) => isNamed(name, "count") && values.length === 1);
  const count = Math.min(total, counted?.values[0] ?? total);
  const found: FoundBox[] = [];
  for (let index = 0; index < count && found.length < most; index++) {
    const score = scores?.values[index];
    const confidence = scores && score !== undefined ? confidenceOf(scores.type, score) : undefined;
    if (confidence !== undefined && !(confidence >= least)) continue;
    const category = Math.round(categories?.values[index] ?? 0);
    const corner = (which: number) =>
      Math.min(Math.max(boxes.values[index * 4 + (boxOrder[which] ?? 0)] ?? 0, 0), 1);
    found.push({
      label: labels[category] ?? String(category),
      ...(confidence !== undefined && { confidence }),
      ...{ xMin: corner(0), yMin: corner(1), xMax: corner(2), yMax: corner(3) },
    });
  }
  return found;
}

function isNamed(name: string, word: string): boolean {
  return name.toLowerCase().includes(word);
}
