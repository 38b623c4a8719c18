/** What becomes of the words of Kubernetes. */
import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { jobState } from "./job_state.ts";
import { jobForm, podForm } from "./objects.ts";

const WORDS = { image: "registry.example/trainer:1", memoryBytes: 8 * 2 ** 30 };
const FAILED = [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded" }];

function state(
  { conditions = [], pod, events = [], deletionTimestamp }: {
    conditions?: object[];
    pod?: object;
    events?: string[];
    deletionTimestamp?: string;
  },
) {
  const job = jobForm.parse({ metadata: { name: "machine-training-1" }, status: { conditions } });
  const metadata = { name: "machine-training-1-x", deletionTimestamp };
  return jobState(job, pod && podForm.parse({ metadata, status: pod }), events, WORDS);
}

const waits = (reason: string, message: string) => ({
  phase: "Pending",
  containerStatuses: [{ state: { waiting: { reason, message } } }],
});
const ended = (exitCode: number, reason = "Error") => ({
  phase: "Failed",
  containerStatuses: [{ state: { terminated: { exitCode, reason } } }],
});

Deno.test("jobState() says in words what a job waits for", () => {
  const image = state({ pod: waits("ImagePullBackOff", 'Back-off pulling "trainer:1": 403') });
  assert.ok(image.kind === "waiting" && image.isWrong);
  assert.match(image.text, /cannot pull the image registry\.example\/trainer:1 \(.*403\).*secret/);
  const again = state({ pod: waits("ErrImagePull", "denied") });
  assert.equal(again.kind === "waiting" && again.why, image.why, "it is said once");
  const wrong = state({ pod: waits("CreateContainerConfigError", "runs as root") });
  assert.ok(wrong.kind === "waiting" && wrong.isWrong);
  assert.match(wrong.text, /cannot start the container.*runs as root/);
  const quota = state({ events: ["FailedCreate: pods are forbidden: exceeded quota: gpus"] });
  assert.ok(quota.kind === "waiting" && !quota.isWrong);
  const refused = state({ events: ["SuccessfulCreate: x", "FailedCreate: violates PodSecurity"] });
  assert.ok(refused.kind === "waiting" && refused.isWrong);
  assert.match(refused.text, /violates PodSecurity.*what the namespace allows/);
  assert.equal(state({}).kind, "waiting");
  assert.equal(state({ pod: { phase: "Running" } }).kind, "running");
  assert.equal(state({ pod: ended(1) }).kind, "running", "until the job itself has ended");
});

Deno.test("jobState() tells a fault of the script from one of the cluster", () => {
  const disruption = { type: "DisruptionTarget", status: "True", message: "preempting" };
  for (
    const [pod, code, reason] of [
      [ended(137, "OOMKilled"), Code.ResourceExhausted, /more memory.*8 GiB.*--training-memory/],
      [ended(137), Code.ResourceExhausted, /most likely as it used more memory than 8 GiB/],
      [ended(3), Code.Unknown, /^the script exited with code 3$/],
      [ended(139), Code.Unknown, /SIGSEGV/],
      [
        {
          ...{ phase: "Failed", reason: "Evicted" },
          message: 'Usage of EmptyDir volume "work" exceeds the limit "40Gi"',
        },
        ...[Code.ResourceExhausted, /more disk.*--training-disk.*EmptyDir/] as const,
      ],
      [{ ...ended(137), conditions: [disruption] }, undefined, /had to go: preempting/],
      [
        { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory" },
        ...[undefined, /evicted by its node: The node was low/] as const,
      ],
      [{ phase: "Failed", reason: "OutOfcpu", message: "no" }, undefined, /a node did not take/],
      [undefined, undefined, /its pod is gone/],
    ] as const
  ) {
    const end = state({ conditions: FAILED, ...(pod ? { pod } : {}) });
    assert.equal(end.kind, code === undefined ? "lost" : "failed", JSON.stringify(end));
    assert.ok(end.kind === "failed" || end.kind === "lost");
    assert.match(end.reason, reason);
    if (end.kind === "failed") assert.equal(end.code, code);
  }
  const late = state({ conditions: [{ ...FAILED[0], reason: "DeadlineExceeded" }] });
  assert.equal(late.kind === "failed" && late.code, Code.DeadlineExceeded);
  const complete = [{ type: "Complete", status: "True" }];
  assert.equal(state({ conditions: complete }).kind, "succeeded");
});

Deno.test("jobState() waits for no pod of a computer that is gone", () => {
  const conditions = [{ ...FAILED[0], type: "FailureTarget" }];
  const gone = { type: "DisruptionTarget", status: "True", message: "taint manager: deleting" };
  const pod = { phase: "Running", conditions: [gone] };
  assert.equal(state({ conditions, pod }).kind, "running");
  const end = state({ conditions, pod, deletionTimestamp: "2026-11-28T12:00:00Z" });
  assert.equal(end.kind === "lost" && end.reason, "its pod had to go: taint manager: deleting");
});
