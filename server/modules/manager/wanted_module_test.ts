import assert from "node:assert/strict";
import { resolve } from "node:path";
import {
  checkModules,
  type CheckOptions,
  needsRestart,
  type WantedModule,
} from "./wanted_module.ts";

const module = (name: string, fields: Partial<WantedModule> = {}): WantedModule => ({
  name,
  executable: `/opt/${name}/run`,
  root: "",
  env: {},
  tcpMode: false,
  ...fields,
});

const options: CheckOptions = {
  userHome: "/users/ada",
  untrusted: false,
};
const holds = (modules: WantedModule[], changed: Partial<CheckOptions> = {}) =>
  checkModules(modules, { ...options, ...changed }).map(({ hold }) => hold);

Deno.test("checkModules() makes paths absolute", () => {
  const paths = ["/a/b", "~/b", "bin/b"].map((executable) =>
    checkModules([module("m", { executable })], options)[0]!.wanted.executable
  );
  assert.deepEqual(paths, ["/a/b", "/users/ada/b", resolve("bin/b")]);
});

Deno.test("checkModules() refuses the second module when two have one executable", () => {
  const twins = [module("a"), module("b", { executable: "/opt/a/run" })];
  const [first, second] = holds(twins);
  assert.equal(first, undefined);
  assert.equal(second?.kind, "refused");
  assert.match(second!.reason, /module b has the same executable as module a, \/opt\/a\/run/);
});

Deno.test("checkModules() refuses names that would lead out of a folder or are taken", () => {
  for (const name of ["../x", "", "parent", "-a", "a/b", "a".repeat(201)]) {
    assert.equal(holds([module(name, { executable: "/x" })])[0]?.kind, "refused", name);
  }
  assert.deepEqual(holds([module("My-module_2")]), [undefined]);
});

Deno.test("checkModules() tells what a module waits for, and problems first", () => {
  const pending = { executable: "", pending: "the package is loaded" };
  assert.deepEqual(holds([module("a", pending)]), [
    { kind: "pending", reason: "the package is loaded" },
  ]);
  assert.deepEqual(holds([module("a", { ...pending, problem: "wrong hash" })]), [
    { kind: "refused", reason: "wrong hash" },
  ]);
  assert.match(holds([module("a", { executable: "" })])[0]!.reason, /no executable_path/);
});

Deno.test("checkModules() takes nobody at his name when the environment is untrusted", () => {
  const modules = [
    module("a", { moduleId: "viam:camera" }),
    module("b", { moduleId: "acme:camera" }),
    module("c"),
    module("d", { moduleId: "viam" }),
  ];
  const untrusted = holds(modules, { untrusted: true }).map((hold) => hold?.kind);
  assert.deepEqual(untrusted, ["refused", "refused", "refused", "refused"]);
  assert.deepEqual(holds(modules), [undefined, undefined, undefined, undefined]);
});

Deno.test("needsRestart() is true when the start of the module would be another", () => {
  const before = module("a", { env: { A: "1", B: "2" } });
  assert(!needsRestart(before, { ...before, env: { B: "2", A: "1" } }));
  assert(!needsRestart(before, { ...before, firstRunTimeoutMs: 5 }));
  const changes: Partial<WantedModule>[] = [
    { executable: "/x" },
    { root: "/x" },
    { moduleId: "a:b" },
    { env: { A: "1" } },
    { logLevel: "debug" },
    { tcpMode: true },
    { version: "2" },
  ];
  for (const change of changes) {
    assert(needsRestart(before, { ...before, ...change }), JSON.stringify(change));
  }
});
