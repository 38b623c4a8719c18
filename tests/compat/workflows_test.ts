/** What actionlint says of the workflows, which only hosted runners can run. Skipped where there is no Go. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { ROOT } from "../../tools/programs.ts";
import { runToEnd } from "../e2e/run_to_end.ts";
import { buildGoProgram } from "./go_program.ts";

const WORKFLOWS = join(ROOT, ".github", "workflows");

const program = await buildGoProgram({
  name: "actionlint",
  folder: "actionlint",
  package: "github.com/rhysd/actionlint/cmd/actionlint",
});

/** What is wrong with a workflow; "" when nothing is. */
async function problems(workflow: string): Promise<string> {
  const { stdout, stderr } = await runToEnd(program.path, {
    // Programs that are not everywhere are left out.
    args: ["-no-color", "-oneline", "-shellcheck=", "-pyflakes=", "-"],
    input: workflow,
  });
  return new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
}

Deno.test({
  name: "the workflows have nothing that actionlint objects to",
  ignore: ignoreBecause(import.meta.url, program.missing),
  async fn() {
    const names = [...Deno.readDirSync(WORKFLOWS)].map(({ name }) => name);
    assert.ok(names.includes("release.yml"), `${names}`);
    for (const name of names) {
      const text = await Deno.readTextFile(join(WORKFLOWS, name));
      assert.equal(await problems(text), "", name);
      assert.notEqual(await problems(text.replace("runs-on:", "runs-in:")), "", name);
    }
  },
});
