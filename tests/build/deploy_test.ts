/** The manifests in deploy/ by the published schemas of Kubernetes, and by Helm where it is there. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { noPythonPackagesBecause } from "../../shared/test_tools/probes.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { ROOT } from "../../tools/programs.ts";

const MANIFEST = join(ROOT, "deploy", "kubernetes", "machine-cloud.yaml");
const CHART = join(ROOT, "deploy", "helm", "machine-cloud");
const REQUIREMENTS = join(ROOT, "tools", "kubernetes_requirements.txt");
const HELM = Deno.env.get("HELM") ?? "helm";
const OLDEST = "1.27";
const NEWEST = "1.37";
const NAMES = ["machine-cloud", CHART, "--namespace", "machine-cloud"];

async function run(command: string, ...args: string[]) {
  const { success, stdout, stderr } = await new Deno.Command(command, { args }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { success, out: out ?? "", err: err ?? "" };
}

/** Python with the schemas of many versions; or why there is none. */
async function validator(): Promise<{ path: string } | string> {
  const version = /^kubernetes-validate==([\d.]+)/m.exec(await Deno.readTextFile(REQUIREMENTS))
    ?.[1] ?? "";
  const script = join(ROOT, "tools", "python_environment.sh");
  const { success, out, err } = await run("sh", script, "kubernetes", version, REQUIREMENTS);
  if (success) return { path: out.trim() };
  const reason = await noPythonPackagesBecause();
  if (reason !== undefined) return reason;
  throw new Error(err.trim());
}

const python = await validator();
const noSchemas = typeof python === "string" ? `no schemas of Kubernetes: ${python}` : undefined;
const noHelm = await run(HELM, "version").then(
  () => undefined,
  () => "there is no helm (https://helm.sh); HELM=FILE names it",
);

/** Strict: a field that the schema does not know is an error. */
async function validate(text: string, version: string) {
  assert.ok(typeof python !== "string");
  const file = await Deno.makeTempFile({ prefix: "machine-manifest-", suffix: ".yaml" });
  try {
    await Deno.writeTextFile(file, text);
    return await run(python.path, "-m", "kubernetes_validate", "--strict", "-k", version, file);
  } finally {
    await Deno.remove(file);
  }
}

async function assertValid(text: string): Promise<void> {
  for (const version of [OLDEST, NEWEST]) {
    const { success, out, err } = await validate(text, version);
    assert.ok(success, out + err);
  }
}

async function render(...values: string[]) {
  const set = values.flatMap((value) => ["--set", value]);
  return await run(HELM, "template", ...NAMES, "--kube-version", `${OLDEST}.0`, ...set);
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

Deno.test({
  name: "the chart makes the manifest of its own values, and takes others",
  ignore: ignoreBecause(import.meta.url, noSchemas ?? noHelm),
  async fn() {
    const lint = await run(HELM, "lint", "--strict", CHART, "--kube-version", `${OLDEST}.0`);
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
    const wrong = await render("replica=5");
    assert.match(wrong.err, /additional properties 'replica' not allowed/);
  },
});
