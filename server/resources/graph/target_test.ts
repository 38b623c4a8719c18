import assert from "node:assert/strict";
import { buildTarget, type RemoteFacts } from "./target.ts";
import { spec } from "./testing.ts";

Deno.test("buildTarget() resolves short and full names when both are used", () => {
  const target = buildTarget([spec("a"), spec("b"), spec("c", ["a", "t:component:x/b", "a"])]);
  const c = target.get("t:component:x/c")!;
  assert.deepEqual(c.dependencies, ["t:component:x/a", "t:component:x/b"]);
  assert.equal(c.problem, undefined);
});

Deno.test("buildTarget() ignores the frame system when it is a dependency", () => {
  const target = buildTarget([spec("a", ["framesystem", "$framesystem"])]);
  assert.deepEqual(target.get("t:component:x/a")!.dependencies, []);
  assert.equal(target.get("t:component:x/a")!.problem, undefined);
});

Deno.test("buildTarget() names the missing resource when a dependency is unknown", () => {
  for (const written of ["ghost", "t:component:x/ghost"]) {
    const problem = buildTarget([spec("a", [written])]).get("t:component:x/a")!.problem;
    assert.equal(problem, `depends_on[0]: there is no resource "${written}" in the configuration`);
  }
});

Deno.test("buildTarget() takes every resource of that name when a short name fits two APIs", () => {
  const target = buildTarget([
    spec("a"),
    { ...spec("a"), api: "t:service:y" },
    spec("b", ["a"]),
    spec("c", ["t:service:y/a"]),
  ]);
  assert.deepEqual(target.get("t:component:x/b")!.dependencies, [
    "t:component:x/a",
    "t:service:y/a",
  ]);
  assert.deepEqual(target.get("t:component:x/c")!.dependencies, ["t:service:y/a"]);
});

Deno.test("buildTarget() takes the others when a resource names its own short name", () => {
  const target = buildTarget([spec("a"), { ...spec("a", ["a"]), api: "t:service:y" }]);
  const { dependencies, problem } = target.get("t:service:y/a")!;
  assert.deepEqual(dependencies, ["t:component:x/a"]);
  assert.equal(problem, undefined);
});

Deno.test("buildTarget() tells a remote's resource from one that is forgotten", () => {
  const ofA = (written: string, facts?: RemoteFacts) => {
    const remotes = new Map(facts ? [["r", facts]] : []);
    return buildTarget([spec("a", [written])], undefined, remotes).get("t:component:x/a")!;
  };
  for (const written of ["r:ghost", "t:component:x/r:ghost"]) {
    assert.equal(
      ofA(written).problem,
      `depends_on[0]: "${written}" would be a resource of the remote r, and there is no such ` +
        "remote in the configuration",
    );
    assert.equal(
      ofA(written, {}).problem,
      `depends_on[0]: the remote r has no resource "${written}"`,
    );
    const lost = ofA(written, { problem: "it is gone" });
    assert.equal(lost.problem, "depends_on[0]: waiting for remote r: it is gone");
    const early = ofA(written, { pending: "it connects" });
    assert.equal(early.problem, undefined);
    assert.equal(early.pending, "depends_on[0]: waiting for remote r: it connects");
  }
  assert.match(ofA("ghost", { problem: "it is gone" }).problem!, /nor on a remote.*missing: r$/);
  assert.match(ofA("ghost", { pending: "it connects" }).pending!, /missing: r$/);
  assert.match(ofA("ghost", {}).problem!, /no resource "ghost" in the configuration$/);
});

Deno.test("buildTarget() finds a remote's resource by its name alone where that is unique", () => {
  const target = (...others: string[]) =>
    buildTarget([spec("a", ["s"]), ...others.map((name) => spec(name))]).get("t:component:x/a")!;
  assert.deepEqual(target("r:s").dependencies, ["t:component:x/r:s"]);
  assert.deepEqual(target("s", "r:s").dependencies, ["t:component:x/s"]);
  assert.equal(
    target("r:s", "q:s").problem,
    'depends_on[0]: 2 remotes have a resource "s"; write one of "r:s", "q:s"',
  );
  const full = buildTarget([spec("a", ["t:component:x/s"]), spec("r:s")]);
  assert.deepEqual(full.get("t:component:x/a")!.dependencies, ["t:component:x/r:s"]);
});

Deno.test("buildTarget() refuses the resource when it stands twice", () => {
  const target = buildTarget([spec("a"), spec("a")]);
  assert.equal(target.size, 1);
  assert.match(target.get("t:component:x/a")!.problem!, /more than once/);
});

Deno.test("buildTarget() shows the way round when resources depend on each other", () => {
  const target = buildTarget([
    spec("a", ["b"]),
    spec("b", ["c"]),
    spec("c", ["a"]),
    spec("d", ["a"]),
  ]);
  assert.equal(
    target.get("t:component:x/b")!.problem,
    "circular dependency: t:component:x/b -> t:component:x/c -> t:component:x/a -> t:component:x/b",
  );
  assert.equal(target.get("t:component:x/d")!.problem, undefined);
});

Deno.test("buildTarget() copes when a chain is thousands long", () => {
  const chain = Array.from({ length: 20_000 }, (_, i) => spec(`n${i}`, i > 0 ? [`n${i - 1}`] : []));
  const problems = [...buildTarget(chain).values()].filter((node) => node.problem);
  assert.deepEqual(problems, []);
});
