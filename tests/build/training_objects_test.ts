/** What training on Kubernetes creates, by the published schemas, and by what pods may be there. */
import assert from "node:assert/strict";
import { jobObject, secretObject } from "../../cloud/training/kubernetes/job_objects.ts";
import { IMAGE, RESOURCES } from "../../cloud/training/kubernetes/kubernetes_testing.ts";
import { RUN_LIMITS } from "../../cloud/training/runs/limits.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { noSchemas, wrongWith } from "./kubernetes_schemas.ts";

const JOB = {
  id: "machine-training-8c9c4a1e-0000-4000-8000-000000000000-12345678",
  run: {
    environment: { API_KEY_ID: "id", API_KEY: "secret", MACHINE_TRAINING_RUN: "{}" },
    requirements: [],
    hasModel: () => Promise.resolve(true),
    close: () => Promise.resolve(),
  },
  ...{ container: IMAGE, limits: RUN_LIMITS, cloudUrl: "https://cloud.example" },
};

Deno.test({
  name: "training on Kubernetes creates what its oldest and newest version know",
  ignore: ignoreBecause(import.meta.url, noSchemas),
  async fn() {
    const none = { cpus: 1, gpus: 0, nodeSelector: {}, tolerations: [] };
    for (
      const object of [jobObject(JOB, RESOURCES), jobObject(JOB, none), secretObject(JOB, "uid")]
    ) {
      assert.equal(await wrongWith(JSON.stringify(object)), undefined);
      assert.ok(await wrongWith(JSON.stringify({ ...object, sepc: {} })));
    }
  },
});

Deno.test("a pod of training has no rights, and its job's key in a Secret alone", () => {
  const job = jobObject(JOB, RESOURCES);
  const { spec } = job.spec.template;
  const [container] = spec.containers;
  assert.ok(container);
  assert.ok(JOB.id.length <= 63);
  assert.equal(spec.automountServiceAccountToken, false);
  assert.equal(spec.securityContext.runAsNonRoot, true);
  assert.equal(spec.securityContext.seccompProfile.type, "RuntimeDefault");
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  assert.ok(spec.volumes.every((volume) => "emptyDir" in volume));
  assert.deepEqual(container.resources.limits, {
    ...{ cpu: "2", memory: String(RUN_LIMITS.memoryBytes), "nvidia.com/gpu": "1" },
  });
  const { backoffLimit, activeDeadlineSeconds, ttlSecondsAfterFinished } = job.spec;
  assert.equal(backoffLimit, 0);
  assert.ok(activeDeadlineSeconds > RUN_LIMITS.wallMs / 1_000 && ttlSecondsAfterFinished > 0);
  assert.ok(!JSON.stringify(job).includes('"secret"'), "the job has the key itself");
  const secret = secretObject(JOB, "uid");
  assert.deepEqual(secret.metadata.ownerReferences.map(({ uid }) => uid), ["uid"]);
});
