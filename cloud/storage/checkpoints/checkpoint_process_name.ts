/** The first argument of the process that makes checkpoints; its folder of data is the second. */
export const CHECKPOINT_PROCESS = "database-checkpoint-process";
