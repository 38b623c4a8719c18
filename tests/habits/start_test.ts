/** What a program reads before it is ready: a wrong import there costs each start and each host. */
import assert from "node:assert/strict";
import { readImports, readSources } from "./sources.ts";

const sources = new Map((await readSources()).map((source) => [source.path, source]));

/** What programs load in any case; all else only once it is needed. */
const STARTS = {
  server: [
    "server/main.ts",
    "server/run/machine/machine_server.ts",
    "server/models/builtin.ts",
    "shared/base/process/system_processes.ts",
    "server/modules/processes/child_variables.ts",
    "server/diagnostics/diagnostics.ts",
  ],
  agent: ["agent/main.ts", "agent/run/run_agent.ts", "agent/run/compose.ts"],
};

/** Files that are read together with these, types left out, with the imports that lead there. */
function readWith(paths: readonly string[]): Map<string, string> {
  const ways = new Map(paths.map((path) => [path, path]));
  for (const [path, way] of ways) {
    const source = sources.get(path);
    if (!source) continue; // Generated.
    const text = source.text.replace(/\bimport\(/g, "later(");
    for (const { to, typeOnly } of readImports({ path, text })) {
      if (!typeOnly && !ways.has(to)) ways.set(to, `${to} < ${way}`);
    }
  }
  return ways;
}

for (const [program, first] of Object.entries(STARTS)) {
  const ways = readWith(first);

  Deno.test(`the start of the ${program} is found at all`, () => {
    assert.deepEqual(first.filter((path) => !sources.has(path)), []);
    assert.ok(ways.has("shared/base/errors/to_error.ts"));
  });

  // 290 kB and 5 MB of memory; configurations of a cloud are checked without it.
  Deno.test(`the start of the ${program} does not load zod`, () => {
    const wrong = [...ways].filter(([path]) =>
      /^import (?!type)[^;]*from "zod/m.test(sources.get(path)?.text ?? "")
    );
    assert.deepEqual(wrong.map(([, way]) => way), []);
  });
}
