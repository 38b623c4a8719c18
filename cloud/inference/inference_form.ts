import type { NumberType } from "../../shared/inference/tensors.ts";

/** First argument of the process that runs models; `subprocesses.ts` knows it. */
export const INFERENCE_PROCESS = "inference-process";

/** What that process reads: this as a line of JSON, then the package, then the image. */
export interface InferenceRequest {
  /** Bytes of the package: a tar.gz with a model and perhaps its labels. */
  readonly packageBytes: number;
  /** Bytes of the image. */
  readonly imageBytes: number;
}

/** A tensor that a model gave, in JSON. */
export interface AnsweredTensor {
  readonly name: string;
  readonly type: NumberType;
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** What it answers: one line of JSON. */
export type InferenceAnswer =
  | {
    readonly kind: "outputs";
    readonly outputs: readonly AnsweredTensor[];
    /** One a class; empty when the package has none. */
    readonly labels: readonly string[];
  }
  /** The model, or the image, is not one that can be run here. */
  | { readonly kind: "refused"; readonly message: string };

/** Most bytes of an answer; a message may have 32 MiB. */
export const MOST_ANSWER_BYTES = 16 * 1024 * 1024;
