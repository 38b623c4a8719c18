import { INFERENCE_PROCESS, PICTURE_PROCESS } from "./process_names.ts";

/** What this program does in processes of its own, by its first argument. */
export const SUBPROCESSES: ReadonlyMap<string, () => Promise<void>> = new Map([
  [INFERENCE_PROCESS, async () => {
    const { runInferenceProcess } = await import("./ml_model/inference_process.ts");
    await runInferenceProcess();
  }],
  [PICTURE_PROCESS, async () => {
    const { runPictureProcess } = await import("./pictures/picture_process.ts");
    await runPictureProcess();
  }],
]);
