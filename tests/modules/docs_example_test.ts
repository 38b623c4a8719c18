/** The modules of docs/modules.md and docs/drivers.md work as they stand there. */
import type { JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseMachineConfig } from "../../shared/config/parse.ts";
import { ensurePythonSdk } from "../e2e/python_sdk.ts";
import {
  type Machine,
  readings,
  scriptModule,
  SENSOR_API,
  statusOf,
  withMachine,
} from "./machine.ts";

/** Reads the first block of a language after a heading. */
async function blocks(page: string, heading: string) {
  const path = fileURLToPath(new URL(`../../docs/${page}`, import.meta.url));
  const [, text = ""] = (await Deno.readTextFile(path)).split(`\n${heading}\n`);
  return (language: string): string => {
    const found = new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\`$`, "m").exec(text)?.[1];
    assert.ok(found, `docs/${page} has no block of ${language} after ${heading}`);
    return found;
  };
}

/** Runs the module of a page with its configuration. */
async function withExample(
  page: string,
  heading: string,
  use: (machine: Machine) => Promise<void>,
): Promise<void> {
  const block = await blocks(page, heading);
  const { config, problems } = parseMachineConfig(JSON.parse(block("json")));
  assert.deepEqual(problems, []);
  const python = await ensurePythonSdk();
  await withMachine(async (machine) => {
    await Deno.writeTextFile(join(machine.folder, "example.py"), block("python"));
    const script = `cd '${machine.folder}'\nexec '${python}' example.py "$@"`;
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
    assert.equal(statusOf(machine, module.name).state, "ready");
    await use(machine);
  });
}

Deno.test("docs/modules.md has an example that runs", async () => {
  await withExample("modules.md", "## One in Python", async (machine) => {
    assert.deepEqual(machine.resources.index.find(SENSOR_API, "clock")?.error, "");
    const { seconds, ...rest } = await readings(machine, "clock");
    assert.ok(typeof seconds === "number" && seconds >= 0 && seconds < 86_400);
    assert.deepEqual(rest, { a: 1, b: 2 });
  });
});

Deno.test("docs/drivers.md has a driver that reads its chip by a board", async () => {
  await withExample("drivers.md", "## Write your own", async (machine) => {
    assert.deepEqual(machine.resources.index.find(SENSOR_API, "outside")?.error, "");
    assert.deepEqual(await readings(machine, "outside"), { celsius: 25.5 });
  });
});
