/**
 * Versions of the agent that do not do what they should, as the launcher and the guard meet them.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { readRollback } from "../../../agent/updates/guard/trial_file.ts";
import { AgentRig, type AgentVersion } from "./agent_rig.ts";

interface Bad {
  readonly name: string;
  readonly version: AgentVersion;
  /** The guard's patience in seconds. */
  readonly limitS: number;
  readonly reason: RegExp;
}

const BAD: readonly Bad[] = [
  { name: "ends at once", version: { script: "exit 1" }, limitS: 60, reason: /started 3 times/ },
  {
    name: "ends after a while, again and again",
    version: { endsAfterMs: 400, limits: { trialMs: 60_000 } },
    limitS: 60,
    reason: /started 3 times/,
  },
  {
    name: "hangs at its start",
    version: { script: "exec sleep 1000" },
    limitS: 2,
    reason: /did not prove itself within 2 seconds/,
  },
  {
    name: "hangs, with a newer schema",
    version: { bringsSchemaOn: true, limits: { trialMs: 60_000 }, settlesAt: "refused" },
    limitS: 2,
    reason: /did not prove itself within 2 seconds/,
  },
  {
    name: "cannot be run",
    version: { script: "exec /nowhere" },
    limitS: 60,
    reason: /started 3 times/,
  },
];

for (const { name, version, limitS, reason } of BAD) {
  Deno.test({
    name: `an agent that ${name} is replaced by the one before it, without a hand`,
    ignore: Deno.build.os !== "linux",
    fn: async () => {
      await using machine = await AgentRig.create();
      const b = await machine.version("B", undefined, version);
      await machine.version("B", b, version);
      await machine.version("A", b, { settlesAt: "refused", trialLimitS: limitS });
      const said = await machine.launch();
      const last = said?.at(-1);
      assert.deepEqual([last?.version, last?.serving, last?.agent.installed], ["A", "S", "A"]);
      assert.deepEqual(last?.agent.bad, ["B"]);
      assert.match(last?.agent.reason ?? "", reason);
      assert.equal(await readRollback(machine.dir), undefined, "the note is taken");
      await machine.rig.assertLinked("machine-agent");
      for await (const { name } of Deno.readDir(machine.dir)) {
        assert(!name.includes(".before-"), `${name} is removed`);
      }
    },
  });
}

Deno.test({
  name: "two updates at once come one after the other, the agent's first",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using machine = await AgentRig.create();
    const server = await machine.rig.version("T", "serves");
    const b = await machine.version("B", undefined);
    await machine.version("B", b, { server });
    await machine.version("A", b, { server });
    const trace = join(machine.rig.root, "trace");
    const said = await machine.launch({ trace });
    const last = said?.at(-1);
    assert.deepEqual(
      [last?.version, last?.serving, last?.agent.installed, last?.server.installed.split("+")[0]],
      ["B", "T", "B", "T"],
    );
    const a = await Deno.readTextFile(`${trace}-A`);
    assert.doesNotMatch(a, /update\.swap\./, "A does not touch the server before it goes");
    const states = (await Deno.readTextFile(`${trace}-B`)).split("\n");
    const committed = states.indexOf("update.agent-commit.ended");
    const swapped = states.indexOf("update.swap.stopped");
    assert(committed !== -1 && committed < swapped, states.join("\n"));
  },
});
