/** The module of docs/modules.md works as it stands there. */
import type { JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseMachineConfig } from "../../shared/config/parse.ts";
import { ensurePythonSdk } from "../e2e/python_sdk.ts";
import { readings, scriptModule, SENSOR_API, statusOf, withMachine } from "./machine.ts";

const PAGE = fileURLToPath(new URL("../../docs/modules.md", import.meta.url));

/** The first block of that language. */
function block(text: string, language: string): string {
  const found = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "m").exec(text)?.[1];
  assert.ok(found, `docs/modules.md has no block of ${language}`);
  return found;
}

Deno.test("docs/modules.md has an example that runs", async () => {
  const page = await Deno.readTextFile(PAGE);
  const { config, problems } = parseMachineConfig(JSON.parse(block(page, "json")));
  assert.deepEqual(problems, []);
  const python = await ensurePythonSdk();
  await withMachine(async (machine) => {
    await Deno.writeTextFile(join(machine.folder, "clock.py"), block(page, "python"));
    const script = `cd '${machine.folder}'\nexec '${python}' clock.py "$@"`;
    const [entry] = config.modules;
    const module = await scriptModule(machine.folder, entry?.name ?? "", script, {
      env: { PYTHONDONTWRITEBYTECODE: "1" },
    });
    const applied = machine.modules.apply([module]);
    await machine.resources.apply(
      config.components.map(({ name, api, model, attributes = {} }) => ({
        name,
        api,
        model,
        attributes: attributes as JsonObject,
        dependsOn: [],
      })),
      "1",
    );
    await applied;
    assert.equal(statusOf(machine, "clocks").state, "ready");
    assert.deepEqual(machine.resources.index.find(SENSOR_API, "clock")?.error, "");
    const { seconds, ...rest } = await readings(machine, "clock");
    assert.ok(typeof seconds === "number" && seconds >= 0 && seconds < 86_400);
    assert.deepEqual(rest, { a: 1, b: 2 });
  });
});
