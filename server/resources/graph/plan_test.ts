import assert from "node:assert/strict";
import { type CurrentNode, planChanges } from "./plan.ts";
import { buildTarget, type ResourceSpec } from "./target.ts";
import { spec } from "./testing.ts";

type Phase = CurrentNode["phase"];

function running(specs: readonly ResourceSpec[], phases: Record<string, Phase> = {}) {
  return new Map(
    [...buildTarget(specs)].map(([key, { fingerprint, dependencies, spec }]) => [
      key,
      { fingerprint, dependencies, phase: phases[spec.name] ?? "ready" },
    ]),
  );
}

/** The plan with short names, in the form "a,b|c": levels split by bars. */
function plan(
  current: readonly ResourceSpec[],
  target: readonly ResourceSpec[],
  phases: Record<string, Phase> = {},
) {
  const result = planChanges(running(current, phases), buildTarget(target));
  const short = (key: string) => key.slice(key.indexOf("/") + 1);
  const levels = (all: readonly (readonly string[])[]) =>
    all.map((level) => level.map(short).sort().join(",")).join("|");
  return {
    close: levels(result.close),
    build: levels(result.build),
    remove: result.remove.map(short).sort().join(","),
    keep: result.keep.map(short).sort().join(","),
    blocked: Object.fromEntries([...result.blocked].map(([key, text]) => [short(key), text])),
  };
}

const chain = [spec("a"), spec("b", ["a"]), spec("c", ["b"])];
const changed = (name: string, dependsOn: string[] = []) => spec(name, dependsOn, { v: 2 });

const cases: {
  when: string;
  current: ResourceSpec[];
  target: ResourceSpec[];
  phases?: Record<string, Phase>;
  expect: Partial<ReturnType<typeof plan>>;
}[] = [
  {
    when: "nothing runs yet",
    current: [],
    target: [spec("d", ["a", "c"]), ...chain, spec("e")],
    expect: { close: "", build: "a,e|b|c|d", keep: "" },
  },
  { when: "nothing changed", current: chain, target: chain, expect: { build: "", keep: "a,b,c" } },
  {
    when: "the middle of a chain changed",
    current: [...chain, spec("x")],
    target: [chain[0]!, changed("b", ["a"]), chain[2]!, spec("x")],
    expect: { close: "c|b", build: "b|c", keep: "a,x" },
  },
  {
    when: "the root changed",
    current: chain,
    target: [changed("a"), chain[1]!, chain[2]!],
    expect: { close: "c|b|a", build: "a|b|c", keep: "" },
  },
  {
    when: "a leaf is gone",
    current: chain,
    target: [chain[0]!, chain[1]!],
    expect: { close: "c", build: "", remove: "c", keep: "a,b" },
  },
  {
    when: "a dependency is gone but still asked for",
    current: chain,
    target: [chain[1]!, chain[2]!],
    expect: {
      close: "c|b|a",
      build: "",
      remove: "a",
      blocked: {
        b: 'depends_on[0]: there is no resource "a" in the configuration',
        c: "waiting for dependency t:component:x/b: " +
          'depends_on[0]: there is no resource "a" in the configuration',
      },
    },
  },
  {
    when: "only the dependencies changed",
    current: [spec("a"), spec("b")],
    target: [spec("a"), spec("b", ["a"])],
    expect: { close: "b", build: "b", keep: "a" },
  },
  {
    when: "one failed and another waits for it",
    current: [...chain, spec("x")],
    target: [...chain, spec("x")],
    phases: { b: "closed", c: "closed" },
    expect: { close: "", build: "b|c", keep: "a,x" },
  },
  {
    when: "a constructor is at work and nothing changed",
    current: chain,
    target: chain,
    phases: { a: "building", b: "closed", c: "closed" },
    expect: { close: "", build: "b|c", keep: "a" },
  },
  {
    when: "a constructor is at work and its attributes changed",
    current: chain,
    target: [changed("a"), chain[1]!, chain[2]!],
    phases: { a: "building", b: "closed", c: "closed" },
    expect: { close: "a", build: "a|b|c" },
  },
  {
    when: "a resource now depends on itself",
    current: [spec("a"), spec("b")],
    target: [spec("a", ["a"]), spec("b")],
    expect: {
      close: "a",
      build: "",
      keep: "b",
      blocked: { a: "circular dependency: t:component:x/a -> t:component:x/a" },
    },
  },
  {
    when: "everything is to end",
    current: [...chain, spec("d", ["a"])],
    target: [],
    expect: { close: "c|b,d|a", build: "", remove: "a,b,c,d" },
  },
];

for (const { when, current, target, phases, expect } of cases) {
  Deno.test(`planChanges() gives the right steps when ${when}`, () => {
    const result = plan(current, target, phases);
    for (const [part, wanted] of Object.entries(expect)) {
      assert.deepEqual(result[part as keyof typeof result], wanted, part);
    }
  });
}
