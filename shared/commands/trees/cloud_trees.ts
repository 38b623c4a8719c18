import { dataCommands } from "../data/data_flags.ts";
import { datasetCommands } from "../datasets/dataset_flags.ts";
import { moduleCommands } from "../modules/module_flags.ts";
import { releaseCommands } from "../releases/release_flags.ts";
import type { CommandTree } from "../run/command.ts";
import { mounted } from "../run/mounted.ts";
import { secretCommands } from "../secrets/secret_flags.ts";
import { trainingCommands } from "../training/training_flags.ts";
import { triggerCommands } from "../triggers/trigger_flags.ts";

/**
 * The commands that `machine` and `machine-cloud` have in common. They know the cloud by its API
 * only; the program gives them a connection: over the network, or into a data folder.
 */
export const cloudTrees: CommandTree = {
  ...mounted(
    moduleCommands,
    async () => (await import("../modules/module_command.ts")).runModuleCommand,
  ),
  ...mounted(
    releaseCommands,
    async () => (await import("../releases/release_command.ts")).runReleaseCommand,
  ),
  ...mounted(
    triggerCommands,
    async () => (await import("../triggers/trigger_command.ts")).runTriggerCommand,
  ),
  ...mounted(dataCommands, async () => (await import("../data/data_command.ts")).runDataCommand),
  ...mounted(
    datasetCommands,
    async () => (await import("../datasets/dataset_command.ts")).runDatasetCommand,
  ),
  ...mounted(
    trainingCommands,
    async () => (await import("../training/training_command.ts")).runTrainingCommand,
  ),
  ...mounted(
    secretCommands,
    async () => (await import("../secrets/secret_command.ts")).runSecretCommand,
  ),
};
