import assert from "node:assert/strict";
import { testsOfDatabase } from "./database_engine.ts";

Deno.test("testsOfDatabase() follows imports and programs that a test starts, not types", () => {
  const choice = "cloud/storage/data_folder/database_choice.ts";
  const sources = [
    { path: "cloud/a.ts", text: `const { openDatabase } = await import("../${choice}");` },
    { path: "cloud/a_test.ts", text: `import { a } from "./a.ts";` },
    { path: "cloud/child_testing.ts", text: `import { a } from "./a.ts";` },
    { path: "cloud/child_test.ts", text: `new URL("./child_testing.ts", import.meta.url)` },
    { path: "cloud/types_test.ts", text: `import type { A } from "./a.ts";` },
    { path: "cloud/pure_test.ts", text: `import { b } from "./b.ts";` },
  ];
  const tests = sources.map(({ path }) => path).filter((path) => path.endsWith("_test.ts"));
  assert.deepEqual(testsOfDatabase(tests, sources), ["cloud/a_test.ts", "cloud/child_test.ts"]);
});
