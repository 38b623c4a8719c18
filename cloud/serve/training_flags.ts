import type { FlagTable } from "../../shared/base/flags/flags.ts";
import { MOST_UNFINISHED } from "../training/jobs/jobs.ts";
import { RUN_LIMITS } from "../training/runs/limits.ts";
import { TRAINING_JOBS } from "./training_settings.ts";
import { MIB, MINUTE_MS } from "./units.ts";

/** Options of `machine-cloud serve` about training. */
export const trainingFlags = {
  "training-jobs": {
    type: "integer",
    default: TRAINING_JOBS,
    min: 0,
    max: 64,
    placeholder: "N",
    doc: "Training jobs that run at once; more wait. One alone uses all processors that there " +
      "are. 0: this cloud trains nothing.",
  },
  "training-jobs-per-organization": {
    type: "integer",
    min: 1,
    max: 64,
    placeholder: "N",
    doc: "Training jobs of one organization that run at once. Default: as many as --training-jobs.",
  },
  "training-queue": {
    type: "integer",
    default: MOST_UNFINISHED,
    min: 1,
    max: 1_000_000,
    placeholder: "N",
    doc: "Training jobs of one organization that may wait or run. More are refused.",
  },
  "training-python": {
    type: "string",
    default: "python3",
    placeholder: "PROGRAM",
    doc: "Python 3.9 or newer with venv, which runs training scripts: a path, or a name in PATH.",
  },
  "training-runner": {
    type: "string",
    choices: ["local", "podman", "docker", "ray"],
    default: "local",
    placeholder: "WHERE",
    doc: "Where training scripts run: in a Python environment each, in containers, or on a Ray " +
      "cluster.",
  },
  "ray-address": {
    type: "string",
    default: "http://127.0.0.1:8265",
    placeholder: "URL",
    doc: "Dashboard of the Ray cluster that runs training scripts.",
  },
  "ray-token-file": {
    type: "string",
    placeholder: "FILE",
    doc: "File with the token that the Ray cluster wants. Default: none.",
  },
  "ray-cpus": {
    type: "integer",
    default: 1,
    min: 1,
    max: 1024,
    placeholder: "N",
    doc: "Processors that one training run asks of the Ray cluster.",
  },
  "ray-gpus": {
    type: "integer",
    default: 0,
    min: 0,
    max: 64,
    placeholder: "N",
    doc: "Graphics processors that one training run asks of the Ray cluster.",
  },
  "training-walls": {
    type: "string",
    choices: ["required", "if-possible"],
    default: "required",
    placeholder: "WHEN",
    doc: "What becomes of scripts where the system gives the cloud's user no namespaces to run " +
      "them in: they are not started, or run with all rights of the cloud's user.",
  },
  "training-images": {
    type: "string",
    placeholder: "FILE",
    doc: "JSON list of the images that scripts may run in, with podman and docker.",
  },
  "training-weights": {
    type: "string",
    placeholder: "FILE",
    doc: "File of weights that managed training starts from. Default: from scratch.",
  },
  "training-memory": {
    type: "integer",
    default: RUN_LIMITS.memoryBytes / MIB,
    min: 64,
    max: 16 * 1024 * 1024,
    placeholder: "MIB",
    doc: "Most memory of one training run, in MiB. A run that takes more fails.",
  },
  "training-disk": {
    type: "integer",
    default: RUN_LIMITS.diskBytes / MIB,
    min: 16,
    max: 1024 * 1024 * 1024,
    placeholder: "MIB",
    doc: "Most that one training run may write to the disk, in MiB.",
  },
  "training-time": {
    type: "integer",
    default: RUN_LIMITS.wallMs / MINUTE_MS,
    min: 1,
    max: 60 * 24 * 60,
    placeholder: "MINUTES",
    doc: "Longest time of one training run.",
  },
  "training-cpu-time": {
    type: "integer",
    default: RUN_LIMITS.cpuMs / MINUTE_MS,
    min: 1,
    max: 60 * 24 * 60 * 64,
    placeholder: "MINUTES",
    doc: "Most time of all processors together that one training run may take.",
  },
} as const satisfies FlagTable;
