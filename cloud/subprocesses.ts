import { INFERENCE_PROCESS } from "./inference/inference_form.ts";
import { QUERY_PROCESS } from "./data/queries/query_process_name.ts";
import { CHECKPOINT_PROCESS } from "./storage/checkpoints/checkpoint_process_name.ts";

/** What this program does in processes of its own, by its first argument; each gets the second. */
export const SUBPROCESSES: ReadonlyMap<string, (argument: string) => Promise<void>> = new Map([
  [QUERY_PROCESS, async (dataDir: string) => {
    const { runQueryProcess } = await import("./data/queries/query_process.ts");
    await runQueryProcess(dataDir);
  }],
  [INFERENCE_PROCESS, async () => {
    const { runInferenceProcess } = await import("./inference/inference_process.ts");
    await runInferenceProcess();
  }],
  [CHECKPOINT_PROCESS, async (dataDir: string) => {
    const { runCheckpointProcess } = await import("./storage/checkpoints/checkpoint_process.ts");
    await runCheckpointProcess(dataDir);
  }],
]);
