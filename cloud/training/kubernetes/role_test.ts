/** The role in deploy/ allows what training asks of an API server, and nothing else. */
import assert from "node:assert/strict";
import { KubernetesRig } from "./kubernetes_testing.ts";

const MANIFEST = new URL("../../../deploy/kubernetes/training.yaml", import.meta.url);
const RULE = /resources: \[([\w/]+)\]\n +verbs: \[([\w, ]+)\]/g;

Deno.test("the role of training has exactly the verbs that are used", async () => {
  await using it = await KubernetesRig.open();
  const runner = it.runner({ wallMs: 2_000 });
  it.server.cluster.refusesPods = "exceeded quota";
  await (await it.start(runner, "save()")).ended;
  it.server.cluster.refusesPods = undefined;
  const patient = it.runner();
  await patient.recover();
  const run = await it.start(patient, "print('started', flush=True); time.sleep(2); save()");
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  const allowed = [...(await Deno.readTextFile(MANIFEST)).matchAll(RULE)]
    .flatMap(([, resource, verbs = ""]) => verbs.split(", ").map((verb) => `${verb} ${resource}`));
  assert.deepEqual(allowed.toSorted(), [...it.server.verbs].toSorted());
  await runner.close();
  await patient.close();
});
