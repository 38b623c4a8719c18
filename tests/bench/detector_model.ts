import { type Field, FlatBuffer } from "./flat_buffer.ts";

/** Layers as those of MobileNet v1: how many channels each has, and its stride. */
const BLOCKS = [
  ...[[64, 1], [128, 2], [128, 1], [256, 2], [256, 1], [512, 2]],
  ...[[512, 1], [512, 1], [512, 1], [512, 1], [512, 1], [1_024, 2], [1_024, 1]],
] as const;
const BOXES_A_PLACE = 6;

/** Numbers of TensorFlow Lite's schema, version 3. */
const OPERATORS = { conv: 3, depthwise: 4, reshape: 22, logistic: 14 } as const;
const CODES = Object.values(OPERATORS);
const FLOAT32 = 0;
const INT32 = 2;
const RELU6 = 3;

interface Tensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly type: number;
  readonly buffer: number;
}

interface Operator {
  readonly code: number;
  readonly inputs: readonly number[];
  readonly output: number;
  readonly options?: { readonly type: number; readonly fields: readonly Field[] };
}

/**
 * A detector as large as SSD MobileNet v1 (1.1 billion multiplications at 300 pixels), with random
 * weights: how fast a model runs does not depend on what it has learned.
 *
 * @param side of the image it takes, `[1, side, side, 3]` of float32.
 */
export function detectorModel(side: number): Uint8Array<ArrayBuffer> {
  const graph = new Graph();
  const image = graph.tensor("image", [1, side, side, 3]);
  let last = graph.convolution(image, 32, 3, 2, RELU6);
  for (const [channels, stride] of BLOCKS) {
    last = graph.convolution(graph.depthwise(last, stride), channels, 1, 1, RELU6);
  }
  const [, height = 1, width = 1] = graph.shapeOf(last);
  const count = height * width * BOXES_A_PLACE;
  const places = graph.convolution(last, BOXES_A_PLACE * 4, 3, 1, 0);
  const location = graph.reshape(places, [1, count, 4], "location");
  const logits = graph.reshape(
    graph.convolution(last, BOXES_A_PLACE, 3, 1, 0),
    [1, count],
    "logits",
  );
  return graph.file([image], [location, graph.logistic(logits, "score")]);
}

class Graph {
  readonly #tensors: Tensor[] = [];
  readonly #operators: Operator[] = [];
  readonly #buffers: Uint8Array[] = [new Uint8Array()];
  #seed = 1;

  tensor(name: string, shape: readonly number[], data?: Float32Array | Int32Array): number {
    const buffer = data ? this.#buffers.push(new Uint8Array(data.buffer as ArrayBuffer)) - 1 : 0;
    const type = data instanceof Int32Array ? INT32 : FLOAT32;
    return this.#tensors.push({ name, shape, type, buffer }) - 1;
  }

  shapeOf(tensor: number): readonly number[] {
    return this.#tensors[tensor]!.shape;
  }

  convolution(input: number, out: number, size: number, stride: number, activation: number) {
    const [, height, width, channels = 1] = this.shapeOf(input);
    const output = this.#halved(height, width, stride, out);
    const weights = this.#random([out, size, size, channels], size * size * channels);
    const fields = [0, stride, stride, activation].map(optionOf([1, 4, 4, 1]));
    this.#add("conv", [input, weights, this.#random([out], 100)], output, { type: 1, fields });
    return output;
  }

  depthwise(input: number, stride: number): number {
    const [, height, width, channels = 1] = this.shapeOf(input);
    const output = this.#halved(height, width, stride, channels);
    const weights = this.#random([1, 3, 3, channels], 9);
    const fields = [0, stride, stride, 1, RELU6].map(optionOf([1, 4, 4, 4, 1]));
    const inputs = [input, weights, this.#random([channels], 100)];
    this.#add("depthwise", inputs, output, { type: 2, fields });
    return output;
  }

  reshape(input: number, shape: readonly number[], name: string): number {
    const output = this.tensor(name, shape);
    this.#add("reshape", [input, this.tensor("", [shape.length], Int32Array.from(shape))], output);
    return output;
  }

  logistic(input: number, name: string): number {
    const output = this.tensor(name, this.shapeOf(input));
    this.#add("logistic", [input], output);
    return output;
  }

  file(inputs: readonly number[], outputs: readonly number[]): Uint8Array<ArrayBuffer> {
    const bytes = this.#buffers.reduce((sum, { length }) => sum + length + 64, 0);
    const to = new FlatBuffer(bytes + 1024 * 1024);
    const at = (place: number): Field => ({ at: place });
    const whole = (value: number): Field => ({ bytes: 4, value });
    const byte = (value: number): Field => ({ bytes: 1, value });
    const buffers = this.#buffers.map((data) =>
      to.table(data.length > 0 ? [at(to.blob(data))] : [])
    );
    const tensors = this.#tensors.map(({ name, shape, type, buffer }) =>
      to.table([at(to.numbers(shape)), byte(type), whole(buffer), at(to.text(name))])
    );
    const operators = this.#operators.map(({ code, inputs, output, options }) => {
      const more = options ? [byte(options.type), at(to.table(options.fields))] : [];
      return to.table([whole(code), at(to.numbers(inputs)), at(to.numbers([output])), ...more]);
    });
    const codes = CODES.map((code) => to.table([byte(code), undefined, whole(1), whole(code)]));
    const graph = to.table([
      at(to.places(tensors)),
      at(to.numbers(inputs)),
      at(to.numbers(outputs)),
      at(to.places(operators)),
      at(to.text("main")),
    ]);
    const model = to.table([
      whole(3),
      at(to.places(codes)),
      at(to.places([graph])),
      at(to.text("random")),
      at(to.places(buffers)),
    ]);
    return to.finish(model, "TFL3");
  }

  #halved(height = 1, width = 1, stride: number, channels: number): number {
    const shape = [1, Math.ceil(height / stride), Math.ceil(width / stride), channels];
    return this.tensor(`layer${this.#operators.length}`, shape);
  }

  #random(shape: readonly number[], spread: number): number {
    const length = shape.reduce((product, size) => product * size, 1);
    const scale = 2 / Math.sqrt(spread);
    return this.tensor("", shape, Float32Array.from({ length }, () => this.#next() * scale));
  }

  /** From -0.5 to 0.5, always the same ones. */
  #next(): number {
    this.#seed = (this.#seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return this.#seed / 0x7fffffff - 0.5;
  }

  #add(
    kind: keyof typeof OPERATORS,
    inputs: readonly number[],
    output: number,
    options?: Operator["options"],
  ): void {
    const code = CODES.indexOf(OPERATORS[kind]);
    this.#operators.push({ code, inputs, output, ...(options && { options }) });
  }
}

function optionOf(bytes: readonly (1 | 4)[]) {
  return (value: number, index: number): Field => ({ bytes: bytes[index] ?? 4, value });
}
