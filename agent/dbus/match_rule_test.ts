import assert from "node:assert/strict";
import { matches, matchRule } from "./match_rule.ts";

Deno.test("matchRule() names only what is given", () => {
  assert.equal(matchRule({}), "type='signal'");
  assert.equal(
    matchRule({ sender: "org.example", pathNamespace: "/a", member: "Changed", arg0: "x" }),
    "type='signal',sender='org.example',path_namespace='/a',member='Changed',arg0='x'",
  );
});

Deno.test("matchRule() refuses what would end the value", () => {
  assert.throws(() => matchRule({ arg0: "x',type='method_call" }), /arg0/);
});

Deno.test("matches() compares paths as a namespace by whole elements", () => {
  const signal = { path: "/a/bc", interface: "i", member: "m", body: ["x"] };
  assert.equal(matches({ pathNamespace: "/a" }, signal), true);
  assert.equal(matches({ pathNamespace: "/a/b" }, signal), false);
  assert.equal(matches({ pathNamespace: "/" }, signal), true);
  assert.equal(matches({ path: "/a" }, signal), false);
  assert.equal(matches({ arg0: "y" }, signal), false);
});
