import { Code } from "@connectrpc/connect";
import type { ClusterJobState } from "../remote/cluster.ts";
import { bytesText } from "../runs/limits.ts";
import { endText } from "../runs/run_failure.ts";
import type { Job, Pod } from "./objects.ts";

/** What the texts name. */
export interface JobWords {
  readonly image: string;
  readonly memoryBytes: number;
}

type Condition = NonNullable<NonNullable<Job["status"]>["conditions"]>[number];
type Ended = Extract<ClusterJobState, { kind: "failed" | "lost" }>;

/** Images that are not there however long one waits. */
const NO_IMAGE = /^(ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull)$/;
const NOT_STARTED = /^(CreateContainer\w*|RunContainer|StartContainer|Container\w*)Error$/;
/** The kubelet evicts a pod that writes more than its volumes may have. */
const DISK_IS_OVER = /empty ?dir|ephemeral/i;
/** Nodes that end their pods, or take none, as they go or are full. */
const NODE_ENDED = /^(Evicted|Preempting|Shutdown|NodeShutdown|NodeLost|Terminated|NodeAffinity)$/;
const NODE_REFUSED = /^(OutOf\w+|UnexpectedAdmissionError|Admission\w*)$/;
const KILLED = 137;
const TERMINATED = 143;

/**
 * What a job and its pod say.
 *
 * @param pod the last one that was seen
 * @param events what was reported about the job, as long as it has no pod
 */
export function jobState(
  job: Job,
  pod: Pod | undefined,
  events: readonly string[],
  words: JobWords,
): ClusterJobState {
  if (job.metadata.deletionTimestamp !== undefined) return deletedJob(job.metadata.name);
  const ended = (type: string) =>
    job.status?.conditions?.find((one) => one.type === type && one.status === "True");
  if (ended("Complete")) return { kind: "succeeded" };
  // Since Kubernetes 1.31 a job has failed when its pods have ended, and pods of a node that is
  // gone never do.
  const isGoing = pod?.metadata.deletionTimestamp !== undefined;
  const failed = ended("Failed") ?? (isGoing ? ended("FailureTarget") : undefined);
  if (failed) return failureOf(failed, pod, words);
  if (!pod) return noPod(events);
  const phase = pod.status?.phase ?? "Pending";
  if (phase !== "Pending") return { kind: "running" };
  return waitingPod(pod, words);
}

/** Somebody wanted it to end. */
export function deletedJob(name: string): Ended {
  return {
    kind: "failed",
    code: Code.Aborted,
    reason: `the job ${name} was deleted on the Kubernetes cluster by somebody else; submit the ` +
      "training job again",
  };
}

function noPod(events: readonly string[]): ClusterJobState {
  const refused = events.findLast((event) => event.startsWith("FailedCreate"));
  if (refused === undefined) {
    const text = "waiting for the Kubernetes cluster: it has not made the pod yet";
    return { kind: "waiting", why: "pod", text };
  }
  const isQuota = /exceeded quota/.test(refused);
  const advice = isQuota
    ? "the pod is made when other pods of the namespace have ended, or the quota is raised"
    : "see what the namespace allows, and the service account of --kubernetes-service-account";
  return {
    kind: "waiting",
    why: isQuota ? "quota" : "refused",
    isWrong: !isQuota,
    text: `waiting for the Kubernetes cluster, which cannot make the pod: ${refused}; ${advice}`,
  };
}

function waitingPod({ status }: Pod, { image }: JobWords): ClusterJobState {
  const unschedulable = status?.conditions?.find(({ type, status, reason }) =>
    type === "PodScheduled" && status === "False" && reason === "Unschedulable"
  );
  if (unschedulable) {
    return {
      kind: "waiting",
      why: "Unschedulable",
      text:
        `waiting for room on the Kubernetes cluster: ${
          unschedulable.message ?? "it gives no reason"
        }; if it never comes, add nodes, or ask for less with --training-memory, ` +
        "--kubernetes-cpus, --kubernetes-gpus and --kubernetes-node-selector",
    };
  }
  const { reason = "", message } = status?.containerStatuses?.[0]?.state?.waiting ?? {};
  const said = message === undefined ? reason : `${reason}: ${message}`;
  if (NO_IMAGE.test(reason)) {
    return {
      ...{ kind: "waiting", why: "image", isWrong: true },
      text: `the Kubernetes cluster cannot pull the image ${image} (${said}); see its name in ` +
        "--training-images, and that the pods' service account has the secret of its registry",
    };
  }
  if (NOT_STARTED.test(reason)) {
    return {
      ...{ kind: "waiting", why: "container", isWrong: true },
      text: `the Kubernetes cluster cannot start the container of ${image} (${said})`,
    };
  }
  return {
    kind: "waiting",
    why: "start",
    text: "waiting for the Kubernetes cluster: it prepares the container",
  };
}

function failureOf(
  { reason, message }: Condition,
  pod: Pod | undefined,
  { memoryBytes }: JobWords,
): Ended {
  if (reason === "DeadlineExceeded") {
    return {
      ...{ kind: "failed", code: Code.DeadlineExceeded },
      reason: "the Kubernetes cluster ended the run: it took longer than --training-time allows",
    };
  }
  if (!pod) return lost(`its pod is gone (${message ?? reason ?? "it gives no reason"})`);
  const { status, metadata } = pod;
  const exit = status?.containerStatuses?.[0]?.state?.terminated;
  if (exit?.reason === "OOMKilled") {
    return {
      ...{ kind: "failed", code: Code.ResourceExhausted },
      reason: `the script used more memory than this cloud allows: the limit is ${
        bytesText(memoryBytes)
      } (--training-memory); it was terminated`,
    };
  }
  const why = status?.message ?? status?.reason ?? "";
  if (status?.reason === "Evicted" && DISK_IS_OVER.test(why)) {
    return {
      ...{ kind: "failed", code: Code.ResourceExhausted },
      reason: `the script used more disk than this cloud allows (--training-disk): ${why}`,
    };
  }
  if (NODE_ENDED.test(status?.reason ?? "")) return lost(`its pod was evicted by its node: ${why}`);
  if (NODE_REFUSED.test(status?.reason ?? "")) return lost(`a node did not take its pod: ${why}`);
  const disruption = status?.conditions?.find(({ type, status }) =>
    type === "DisruptionTarget" && status === "True"
  );
  if (disruption) {
    return lost(`its pod had to go: ${disruption.message ?? disruption.reason ?? "no reason"}`);
  }
  const isDeleted = metadata.deletionTimestamp !== undefined;
  if (isDeleted && (!exit || exit.exitCode === KILLED || exit.exitCode === TERMINATED)) {
    return lost("its pod was deleted");
  }
  if (!exit) return lost(`its pod failed: ${why || "it gives no reason"}`);
  if (exit.exitCode === KILLED) {
    return {
      ...{ kind: "failed", code: Code.ResourceExhausted },
      reason: "the script was killed (SIGKILL), most likely as it used more memory than " +
        `${bytesText(memoryBytes)}, the limit of --training-memory`,
    };
  }
  const { exitCode: code } = exit;
  return {
    ...{ kind: "failed", code: Code.Unknown },
    reason: `the script ${endText({ code, signal: null })}`,
  };
}

function lost(reason: string): Ended {
  return { kind: "lost", reason };
}
