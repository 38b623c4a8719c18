/** The tables of kills leave no fault point and no state out. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { readSources } from "../../habits/sources.ts";
import { AgentRig } from "./agent_rig.ts";
import { numbered, Rig } from "./rig.ts";
import { AGENT_STORIES, prepareAgents, SERVER_STORIES } from "./stories.ts";

/** Fault points that no story passes, and why. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "downloads.begun": "of downloads by HTTP; agent/updates/downloads/downloads_faults_test.ts",
  "downloads.discarded": "of downloads by HTTP; agent/updates/downloads/downloads_faults_test.ts",
  "cache.row-removed":
    "of the cleaning of the cache; agent/updates/downloads/downloads_faults_test.ts",
};

Deno.test({
  name: "every state and every fault point of an update is a row of a table",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const passed = new Set<string>();
    const add = (points: readonly string[]) => {
      for (const point of points) passed.add(point.split("#")[0] ?? "");
    };
    for (const story of SERVER_STORIES) {
      await using rig = await Rig.create();
      if (story.before) await rig.install(await rig.version("A", story.before));
      const server = await rig.version("B", story.next);
      add(await rig.rehearse({ server, closedQuestions: 1 }));
    }
    for (const story of AGENT_STORIES) {
      await using machine = await AgentRig.create();
      await prepareAgents(machine, story);
      const trace = join(machine.rig.root, "trace");
      await machine.launch({ trace });
      for (const run of story.runs) {
        const [version = "", again] = run.split(" ");
        const text = await Deno.readTextFile(`${trace}-${version}${again ? "-again" : ""}`);
        add(numbered(text));
      }
    }
    const lacking = (await wanted()).filter((name) => !passed.has(name) && !(name in ELSEWHERE));
    assert.deepEqual(lacking, []);
    const stale = Object.keys(ELSEWHERE).filter((name) => passed.has(name));
    assert.deepEqual(stale, []);
  },
});

/** By the text of the programs. */
async function wanted(): Promise<string[]> {
  const names = new Set<string>();
  const sources = (await readSources()).filter(({ path }) =>
    /^(agent|shared\/(files|store))\//.test(path) && !/_test\.ts$|testing\.ts$/.test(path)
  );
  for (const { text } of sources) {
    for (const [, name = ""] of text.matchAll(/faultPoint\("([^"]+)"\)/g)) names.add(name);
  }
  const record = sources.find(({ path }) => path === "agent/updates/updater/record.ts")?.text ?? "";
  const states = [...record.matchAll(/readonly kind: "([a-z-]+)"/g)].map(([, kind]) => kind);
  assert.equal(states.length, 11);
  for (const kind of states) {
    names.add(`update.${kind}.before-save`).add(`update.${kind}.after-save`);
  }
  return [...names];
}
