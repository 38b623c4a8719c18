/** First argument of the process that runs models; `main.ts` knows it. */
export const INFERENCE_PROCESS = "inference-process";

/** What that process reads: this as a line of JSON, then the package, then the picture. */
export interface InferenceRequest {
  /** Bytes of the package: a tar.gz with a model and perhaps its labels. */
  readonly packageBytes: number;
  /** Bytes of the picture. */
  readonly pictureBytes: number;
}

export const NUMBER_TYPES = [
  "int8",
  "uint8",
  "int16",
  "uint16",
  "int32",
  "uint32",
  "float32",
] as const;
export type NumberType = typeof NUMBER_TYPES[number];

/** A tensor that a model gave. */
export interface OutputTensor {
  readonly name: string;
  readonly type: NumberType;
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** What it answers: one line of JSON. */
export type InferenceAnswer =
  | {
    readonly kind: "outputs";
    readonly outputs: readonly OutputTensor[];
    /** One a class; empty when the package has none. */
    readonly labels: readonly string[];
  }
  /** The model, or the picture, is not one that can be run here. */
  | { readonly kind: "refused"; readonly message: string };

/** Largest model, unpacked; with its tensors it fits into the memory of the process. */
export const MOST_MODEL_BYTES = 256 * 1024 * 1024;
/** Most bytes of an answer; a message may have 32 MiB. */
export const MOST_ANSWER_BYTES = 16 * 1024 * 1024;

/** Something of the request is wrong; the message is for its author. */
export class InferenceRefusedError extends Error {
  override readonly name = "InferenceRefusedError";
}
