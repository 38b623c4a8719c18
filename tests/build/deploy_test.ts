/** The manifests in deploy/ by the published schemas of Kubernetes, and by the packages of Helm. */
import assert from "node:assert/strict";
import { join } from "node:path";
import project from "../../deno.json" with { type: "json" };
import { AddressList } from "../../shared/rpc/server/address_list.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { ROOT } from "../../tools/programs.ts";
import { buildGoProgram } from "../compat/go_program.ts";
import { NEWEST, noSchemas, OLDEST, run, validate, wrongWith } from "./kubernetes_schemas.ts";

const MANIFEST = join(ROOT, "deploy", "kubernetes", "machine-cloud.yaml");
const TRAINING = join(ROOT, "deploy", "kubernetes", "training.yaml");
const CHART = join(ROOT, "deploy", "helm", "machine-cloud");

const program = await buildGoProgram({
  name: "helm_chart",
  folder: "../build/helm_chart",
  // Two thirds of it are types of Kubernetes, which compile in less time when they are not optimised.
  flags: ["-gcflags=k8s.io/...=-N -l"],
});

async function helmChart(command: "lint" | "template", ...args: string[]) {
  const flags = ["--kube-version", `${OLDEST}.0`, "--namespace", "machine-cloud"];
  return await run(program.path, command, ...flags, ...args, CHART);
}

async function assertValid(text: string): Promise<void> {
  assert.equal(await wrongWith(text), undefined);
}

async function render(...values: string[]) {
  const set = values.flatMap((value) => ["--set", value]);
  return await helmChart("template", ...set);
}

/** Objects of a manifest by their kind, without comments; how maps are written does not count. */
function objects(text: string): Map<string, string> {
  const parts = text.replaceAll(/^ *#.*\n/gm, "").split(/^---\n/m);
  return new Map(
    parts.filter((part) => part.trim() !== "").map((part) => [
      /^kind: (\w+)$/m.exec(part)?.[1] ?? "",
      part.trim().replaceAll('"', "").replaceAll("'", ""),
    ]),
  );
}

Deno.test({
  name: "the manifest has fields that Kubernetes knows, in its oldest and newest version",
  ignore: ignoreBecause(import.meta.url, noSchemas),
  async fn() {
    await assertValid(await Deno.readTextFile(TRAINING));
    const text = await Deno.readTextFile(MANIFEST);
    await assertValid(text);
    for (
      const [right, wrong] of [
        ["readinessProbe:", "readynessProbe:"],
        ["maxUnavailable: 0", "maxUnavailable: [0]"],
        ["containerPort: 8080", "containerPort: http"],
      ] as const
    ) {
      assert.ok(text.includes(right));
      assert.equal((await validate(text.replace(right, wrong), NEWEST)).success, false, wrong);
    }
  },
});

Deno.test("the manifest keeps a cloud of several pods served", async () => {
  const found = objects(await Deno.readTextFile(MANIFEST));
  const has = (kind: string, pattern: RegExp) =>
    assert.match(found.get(kind) ?? "", pattern, `${kind} ${pattern}`);
  has("Deployment", /^ {2}replicas: 2$/m);
  has("Deployment", /- --cluster$/m);
  has("Deployment", /readinessProbe:\s+httpGet: \{ path: \/readyz, port: http \}/);
  has("Deployment", /maxUnavailable: 0/);
  has("Job", /args: \[migrate, --data=\/data\]/);
  has("PodDisruptionBudget", /component: node/);
  has("NetworkPolicy", /policyTypes: \[Ingress\]/);
  has("Service", /component: node/);
});

Deno.test("chart and manifest name the image of this version", async () => {
  const chart = await Deno.readTextFile(join(CHART, "Chart.yaml"));
  assert.equal(/^appVersion: (.+)$/m.exec(chart)?.[1], project.version);
  const text = await Deno.readTextFile(MANIFEST);
  const images = [...text.matchAll(/image: \S+:(\S+)$/gm)].map(([, version]) => version);
  assert.deepEqual(images, [project.version, project.version]);
});

Deno.test("the address of the balancer in cluster.yaml is given to no other container", async () => {
  const text = await Deno.readTextFile(join(ROOT, "deploy/compose/cluster.yaml"));
  const given = (name: string) => new RegExp(`\\$\\{${name}:-([^}]+)\\}`).exec(text)?.[1] ?? "";
  const balancer = given("BALANCER");
  assert.ok(new AddressList([given("SUBNET")]).has(balancer));
  assert.ok(!new AddressList([given("RANGE")]).has(balancer));
});

Deno.test({
  name: "the chart makes the manifest of its own values, and takes others",
  ignore: ignoreBecause(import.meta.url, noSchemas ?? program.missing),
  async fn() {
    const lint = await helmChart("lint");
    assert.ok(lint.success, lint.out + lint.err);
    const own = await render();
    assert.ok(own.success, own.err);
    const manifest = objects(await Deno.readTextFile(MANIFEST));
    for (const [kind, text] of objects(own.out)) assert.equal(manifest.get(kind), text, kind);
    await assertValid(own.out);
    const other = await render(
      ...["replicas=5", "key.releases=true", "image.pullSecrets={registry}", "image.tag=v2"],
      ...["nodeSelector.zone=a", "tolerations[0].key=a", "arguments={--log-rate=64}"],
    );
    assert.ok(other.success, other.err);
    await assertValid(other.out);
    assert.match(other.out, /mountPath: \/data\/release\.key/);
    assert.match(other.out, /- --log-rate=64/);
    const proxied = await render("proxyProtocol={10.0.0.7,fd00::/8}");
    await assertValid(proxied.out);
    assert.match(proxied.out, /- --proxy-protocol=10\.0\.0\.7,fd00::\/8/);
    assert.match(proxied.out, /path: \/readyz, port: metrics/);
    assert.doesNotMatch(proxied.out, /Probe:\s+httpGet: .*port: http/);
    const training = await render("training.kubernetes.enabled=true");
    assert.ok(training.success, training.err);
    await assertValid(training.out);
    assert.match(
      training.out,
      /serviceAccountName: machine-cloud\n *automountServiceAccountToken: true/,
    );
    assert.match(training.out, /--kubernetes-namespace=machine-training/);
    assert.doesNotMatch(training.out, /--training-jobs=0/);
    const made = objects(training.out);
    // Of two policies the one of training is last.
    for (const [kind, text] of objects(await Deno.readTextFile(TRAINING))) {
      if (kind !== "Namespace") assert.equal(made.get(kind), text, kind);
    }
    const open = "training.kubernetes.networkPolicy.open={10.1.2.3/32,::/0}";
    const opened = await render("training.kubernetes.enabled=true", open);
    await assertValid(opened.out);
    assert.match(opened.out, /cidr: "10\.1\.2\.3\/32".*\n.*\n.*cidr: "::\/0"/);
    const wrong = await render("replica=5");
    assert.match(wrong.err, /additional properties 'replica' not allowed/);
  },
});
