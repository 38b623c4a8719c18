/** The files in deploy/ name metrics, options and variables that there are. */
import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { metricsRig } from "../operations/metrics/metrics_testing.ts";
import { serveFlags } from "./serve_flags.ts";

const DEPLOY = new URL("../../deploy/", import.meta.url);
const RULES = "prometheus/machine_cloud.rules.yml";
const DASHBOARD = "grafana/machine_cloud.json";
const UNITS = [
  "compose/compose.yaml",
  "compose/cluster.yaml",
  "kubernetes/machine-cloud.yaml",
  "systemd/machine-cloud.service",
];
/** What Prometheus adds, or has itself. */
const ADDED_LABELS = ["instance", "job", "le"];
const OTHER_METRICS = ["up"];
/** Functions and words of PromQL that the files use. */
const WORDS = new Set(
  ("sum by rate and offset deriv increase time changes topk histogram_quantile").split(" "),
);
const STATES = ["delivered", "failed"];
const QUEUES = ["deliveries"];

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

function textOf(name: string): Promise<string> {
  return Deno.readTextFile(new URL(name, DEPLOY));
}

/** Each metric that there is, with the names of its labels. */
async function knownMetrics(): Promise<Map<string, Set<string>>> {
  const { metrics, client } = metricsRig();
  await client.getReadings({ name: "s" });
  const known = new Map(OTHER_METRICS.map((name) => [name, new Set<string>()]));
  for (const line of (await (await metrics.render()).text()).split("\n")) {
    const [, name, labels = ""] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined) continue;
    const names = known.get(name) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) names.add(label);
    known.set(name, names);
  }
  return known;
}

function check(expression: string, known: ReadonlyMap<string, ReadonlySet<string>>): void {
  const text = expression.replaceAll(/\bby \([^)]*\)/g, "").replaceAll(/\[[^\]]*\]/g, "");
  let found = 0;
  for (const [, name = "", matchers] of text.matchAll(/([a-z_]\w*)\s*(?:\{([^}]*)\})?/g)) {
    if (matchers === undefined && WORDS.has(name)) continue;
    if (matchers === undefined && /^(m|d|h|s)$/.test(name)) continue; // the unit of a time
    const labels = known.get(name);
    assert.ok(labels, `there is no metric ${name}: ${expression}`);
    found += 1;
    for (const [, label = "", value = ""] of (matchers ?? "").matchAll(/(\w+)=~?"([^"]*)"/g)) {
      assert.ok(labels.has(label) || ADDED_LABELS.includes(label), `${label} of ${expression}`);
      for (const one of value.split("|")) checkValue(label, one);
    }
  }
  for (const [, labels = ""] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of labels.split(/, */)) {
      const isKnown = [...known.values()].some((names) => names.has(label));
      assert.ok(isKnown || ADDED_LABELS.includes(label), `by ${label} of ${expression}`);
    }
  }
  assert.ok(found > 0, `no metric in ${expression}`);
}

function checkValue(label: string, value: string): void {
  if (label === "code") assert.ok(value === "OK" || value in Code, `code ${value}`);
  if (label === "state") assert.ok(STATES.includes(value), `state ${value}`);
  if (label === "queue") assert.ok(QUEUES.includes(value), `queue ${value}`);
}

Deno.test("alert rules and the dashboard ask for metrics that there are", async () => {
  const known = await knownMetrics();
  const rules = await textOf(RULES);
  const expressions = [...rules.matchAll(/^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)$)/gm)]
    .map(([, lines, line]) => (lines ?? line ?? "").trim());
  assert.equal(expressions.length, [...rules.matchAll(/- alert:/g)].length);
  const { panels } = JSON.parse(await textOf(DASHBOARD)) as { panels: Panel[] };
  const drawn = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  assert.ok(expressions.length >= 10 && drawn.length >= 12);
  for (const expression of [...expressions, ...drawn]) check(expression, known);
  assert.throws(() => check("rate(machine_cloud_cals_total[5m])", known), /no metric/);
  assert.throws(() => check('machine_cloud_calls_total{cod="OK"}', known), /cod of/);
  assert.throws(() => check('machine_cloud_calls_total{code="Bad"}', known), /code Bad/);
});

Deno.test("units, the compose file and the manifest use options that serve has", async () => {
  const variables = new Set<string>(
    Object.values(serveFlags).flatMap((flag) => "env" in flag ? [flag.env] : []),
  );
  for (const name of UNITS) {
    const text = (await textOf(name)).replaceAll(/^\s*#.*$/gm, "");
    // Before that are options of other programs.
    const own = text.split("machine-cloud").length > 1 ? text.slice(text.search(/\bserve\b/)) : "";
    const options = [...own.matchAll(/(?<![\w=])--([a-z][a-z-]*)/g)].map(([, option = ""]) =>
      option
    );
    assert.ok(options.length >= 3, name);
    for (const option of options) assert.ok(option in serveFlags, `${name}: --${option}`);
    for (const [variable] of text.matchAll(/\bMACHINE_CLOUD_\w+/g)) {
      assert.ok(variables.has(variable), `${name}: ${variable}`);
    }
  }
});
