import assert from "node:assert/strict";
import { join } from "node:path";
import { describeSelf, namedIn, withoutStarterVariables } from "./self_program.ts";

const execPath = "/opt/machine/cache/machine-agent-1.0.0-abc";
const compiled = { execPath, isCompiled: true, asService: false };

Deno.test("describeSelf() can be replaced only where somebody starts it again", () => {
  for (const name of ["MACHINE_AGENT_SERVICE", "MACHINE_AGENT_LAUNCHER"]) {
    const { path, problem } = describeSelf({ ...compiled, env: { [name]: "1" } });
    assert.deepEqual([path, problem], [execPath, undefined]);
  }
  assert.equal(describeSelf({ ...compiled, asService: true, env: {} }).problem, undefined);
  assert.match(describeSelf({ ...compiled, env: {} }).problem ?? "", /nobody would start/);
});

Deno.test("describeSelf() cannot be replaced when it runs from its sources", () => {
  const env = { MACHINE_AGENT_SERVICE: "1" };
  const { path, problem } = describeSelf({ ...compiled, isCompiled: false, env });
  assert.equal(path, undefined);
  assert.match(problem ?? "", /from its sources/);
  const wrapped = { ...env, MACHINE_AGENT_PROGRAM: "/cache/script" };
  assert.deepEqual(describeSelf({ ...compiled, isCompiled: false, env: wrapped }), {
    path: "/cache/script",
    problem: undefined,
  });
});

Deno.test("withoutStarterVariables() leaves the server what is meant for it", () => {
  const env = {
    ...{ HOME: "/root", PATH: "/bin", MACHINE_HOME: "/h" },
    ...{ NOTIFY_SOCKET: "/run/x", WATCHDOG_USEC: "1", WATCHDOG_PID: "2" },
    ...{ MACHINE_AGENT_SERVICE: "x", MACHINE_AGENT_LAUNCHER: "1", MACHINE_AGENT_PROGRAM: "/p" },
  };
  assert.deepEqual(withoutStarterVariables(env), {
    HOME: "/root",
    PATH: "/bin",
    MACHINE_HOME: "/h",
  });
});

Deno.test({
  name: "namedIn() names a program as the links in the folder do",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    const root = await Deno.realPath(await Deno.makeTempDir());
    try {
      await Deno.mkdir(join(root, "disk"));
      await Deno.symlink(join(root, "disk"), join(root, "machine"));
      const dir = join(root, "machine");
      assert.equal(namedIn(dir, join(root, "disk", "cache", "a")), join(dir, "cache", "a"));
      assert.equal(namedIn(dir, "/elsewhere/a"), "/elsewhere/a");
      assert.equal(namedIn(dir, join(root, "disk2", "a")), join(root, "disk2", "a"));
      assert.equal(namedIn("/missing", "/elsewhere/a"), "/elsewhere/a");
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
