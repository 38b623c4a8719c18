import { IMAGE_PROCESS, INFERENCE_PROCESS } from "./process_names.ts";

/** What this program does in processes of its own, by its first argument. */
export const SUBPROCESSES: ReadonlyMap<string, () => Promise<void>> = new Map([
  [INFERENCE_PROCESS, async () => {
    const { runInferenceProcess } = await import("./ml_model/inference_process.ts");
    await runInferenceProcess();
  }],
  [IMAGE_PROCESS, async () => {
    const { runImageProcess } = await import("./image_processing/image_process.ts");
    await runImageProcess();
  }],
]);
