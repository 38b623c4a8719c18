import { Code } from "@connectrpc/connect";
import { RunFailedError } from "./run_failure.ts";
import type { TrainingContainer, TrainingTask } from "./runner.ts";

/**
 * The container that a task is to run in, the first if it names none.
 *
 * @throws {RunFailedError} when there is none of that key: the cloud was started in another way when
 * the job was submitted.
 */
export function containerOf(
  { containerVersion }: TrainingTask,
  containers: readonly TrainingContainer[],
): TrainingContainer {
  const found = containerVersion === ""
    ? containers[0]
    : containers.find(({ key }) => key === containerVersion);
  if (found) return found;
  const keys = containers.map(({ key }) => key).join(", ");
  throw new RunFailedError(
    Code.InvalidArgument,
    `this cloud has no container ${JSON.stringify(containerVersion)} any more; there are: ${keys}`,
  );
}
