import { serveJobs } from "../../../shared/base/process/job_child.ts";
import type { Frame } from "../../../shared/base/process/frames.ts";
import { LoadedModel, loadLiteRt } from "../../../shared/inference/litert.ts";
import {
  InferenceRefusedError,
  numbersOver,
  type NumberType,
  type TensorDetails,
} from "../../../shared/inference/tensors.ts";

/** `load` has the model as its part, `infer` one part for each input of the model. */
export type InferenceJob = { readonly kind: "load" } | { readonly kind: "infer" };

export interface LoadResult {
  readonly inputs: readonly TensorDetails[];
  readonly outputs: readonly TensorDetails[];
}

/** Each has a part with its numbers. */
export interface InferResult {
  readonly outputs: readonly {
    readonly name: string;
    readonly type: NumberType;
    readonly shape: readonly number[];
  }[];
}

/**
 * Holds one model and runs it until standard input ends. The model is somebody else's: it runs in
 * WebAssembly, in a process that has dropped its rights to files, network and programs, and it may
 * take a processor for long without a call to the machine waiting.
 */
export async function runInferenceProcess(): Promise<void> {
  const litert = await loadLiteRt();
  for (const name of ["net", "write", "run", "env", "ffi", "sys", "read"] as const) {
    await Deno.permissions.revoke({ name });
  }
  let model: LoadedModel | undefined;
  await serveJobs<InferenceJob>(async ({ head, parts }: Frame<InferenceJob>) => {
    if (head.kind === "load") {
      model = await LoadedModel.load(litert, parts[0] ?? new Uint8Array());
      const { inputs, outputs } = model;
      return { head: { inputs, outputs } satisfies LoadResult, parts: [] };
    }
    if (!model) throw new InferenceRefusedError("no model is loaded");
    const outputs = await model.run(
      model.inputs.map(({ type }, index) => numbers(type, parts[index])),
    );
    return {
      head: {
        outputs: outputs.map(({ name, type, shape }) => ({ name, type, shape })),
      } satisfies InferResult,
      parts: outputs.map(({ values }) => {
        const { buffer, byteOffset, byteLength } = values as Float32Array<ArrayBuffer>;
        return new Uint8Array(buffer, byteOffset, byteLength);
      }),
    };
  }, (error) => error instanceof InferenceRefusedError);
}

function numbers(type: string, bytes: Uint8Array<ArrayBuffer> = new Uint8Array()) {
  const values = numbersOver(type as NumberType, bytes);
  if (
    values instanceof Uint8Array || values instanceof Int32Array || values instanceof Float32Array
  ) return values;
  throw new InferenceRefusedError(`the model takes ${type}, which it cannot be given here`);
}
