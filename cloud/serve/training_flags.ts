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
    choices: ["local", "podman", "docker", "ray", "kubernetes"],
    default: "local",
    placeholder: "WHERE",
    doc:
      "Where training scripts run: in a Python environment each, in containers, or on a cluster " +
      "of Ray or Kubernetes.",
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
  "kubernetes-server": {
    type: "string",
    placeholder: "URL",
    doc: "API server of the Kubernetes cluster that runs training scripts. Default: that of the " +
      "cluster of this pod, with the credentials of its service account.",
  },
  "kubernetes-ca-file": {
    type: "string",
    placeholder: "FILE",
    doc: "Certificates that the API server is trusted by. Default: those of this system.",
  },
  "kubernetes-token-file": {
    type: "string",
    placeholder: "FILE",
    doc: "File with the token for the API server, read again with each call. Default: none.",
  },
  "kubernetes-client-cert": {
    type: "string",
    placeholder: "FILE",
    doc: "Certificate for the API server, in place of a token. Default: none.",
  },
  "kubernetes-client-key": {
    type: "string",
    placeholder: "FILE",
    doc: "Key of that certificate.",
  },
  "kubernetes-namespace": {
    type: "string",
    placeholder: "NAME",
    doc: "Namespace of training runs. Default: that of this pod, or `default`.",
  },
  "kubernetes-service-account": {
    type: "string",
    placeholder: "NAME",
    doc: "Service account of training runs, which get no token of it. Default: that of the " +
      "namespace.",
  },
  "kubernetes-node-selector": {
    type: "list",
    placeholder: "LABEL",
    doc: "KEY=VALUE of the nodes that training runs go to; may be given several times.",
  },
  "kubernetes-toleration": {
    type: "list",
    placeholder: "TAINT",
    doc:
      "KEY[=VALUE][:EFFECT] of nodes that training runs may go to all the same; may be given several times.",
  },
  "kubernetes-cpus": {
    type: "integer",
    default: 1,
    min: 1,
    max: 1024,
    placeholder: "N",
    doc: "Processors that one training run asks of the Kubernetes cluster, and gets at most.",
  },
  "kubernetes-gpus": {
    type: "integer",
    default: 0,
    min: 0,
    max: 64,
    placeholder: "N",
    doc: "Graphics processors (nvidia.com/gpu) that one training run asks of it.",
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
    doc: "JSON list of the images that scripts may run in, with podman, docker and kubernetes.",
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
