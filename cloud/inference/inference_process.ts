import { writeAll } from "../../shared/base/files/write_all.ts";
import {
  type InferenceAnswer,
  type InferenceRequest,
  MOST_ANSWER_BYTES,
} from "./inference_form.ts";
import { type LiteRt, LoadedModel, loadLiteRt } from "../../shared/inference/litert.ts";
import { imageTensor } from "../../shared/inference/image_tensor.ts";
import { InferenceRefusedError } from "../../shared/inference/tensors.ts";
import { decodeImage, ImageError, loadDecoders } from "../../shared/image/decode.ts";
import { readModelPackage } from "./model_package.ts";

/**
 * Runs one model on one image, both from standard input, and ends. It stands apart from the
 * cloud because the model is somebody else's: it may take all memory or continue endlessly, and it
 * runs in WebAssembly in a process that has dropped its rights to files, network and programs.
 */
export async function runInferenceProcess(): Promise<void> {
  // Images are decoded by libraries that are loaded now, as files cannot be read later.
  const [litert] = await Promise.all([loadLiteRt(), loadDecoders()]);
  for (const name of ["net", "write", "run", "env", "ffi", "sys", "read"] as const) {
    await Deno.permissions.revoke({ name });
  }
  const input = new Uint8Array(await new Response(Deno.stdin.readable).arrayBuffer());
  const end = input.indexOf(10);
  const head = JSON.parse(new TextDecoder().decode(input.subarray(0, end))) as InferenceRequest;
  const packed = input.slice(end + 1, end + 1 + head.packageBytes);
  const image = input.subarray(input.length - head.imageBytes);
  const answer = await answerTo(litert, packed, image);
  const text = JSON.stringify(answer);
  const fits = text.length <= MOST_ANSWER_BYTES;
  const message = `the model gives more than ${MOST_ANSWER_BYTES} bytes`;
  const line = fits ? text : JSON.stringify({ kind: "refused", message });
  await writeAll(Deno.stdout, new TextEncoder().encode(`${line}\n`));
}

async function answerTo(
  litert: LiteRt,
  packed: Uint8Array<ArrayBuffer>,
  bytes: Uint8Array,
): Promise<InferenceAnswer> {
  try {
    const { model, labels } = await readModelPackage(packed);
    const image = await decodeImage(bytes);
    const loaded = await LoadedModel.load(litert, model);
    const [input, ...more] = loaded.inputs;
    if (!input || more.length > 0) {
      throw new InferenceRefusedError("the model has not one input, an image");
    }
    const outputs = await loaded.run([imageTensor(image, input.shape, input.type)]);
    const answered = outputs.map((output) => ({ ...output, values: Array.from(output.values) }));
    return { kind: "outputs", outputs: answered, labels };
  } catch (error) {
    if (error instanceof InferenceRefusedError || error instanceof ImageError) {
      return { kind: "refused", message: error.message };
    }
    return { kind: "refused", message: `the model cannot be run: ${String(error)}` };
  }
}
