/**
 * Every moment of the agent's own update: the power goes there, and comes back. Each time an agent
 * starts, and in the end the right one runs with its server.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { readTrial } from "../../../agent/updates/guard/trial_file.ts";
import { AgentRig, type KillPoint, type Said } from "./agent_rig.ts";
import { numbered } from "./rig.ts";
import { AGENT_STORIES, type AgentStory, prepareAgents } from "./stories.ts";

const MACHINES = 3;
const AT_ONCE = { sanitizeOps: false, sanitizeResources: false, sanitizeExit: false };

for (const story of AGENT_STORIES) {
  Deno.test({
    name: `a power cut at any fault point of the agent's ${story.name} leaves an agent that runs`,
    ignore: Deno.build.os !== "linux",
    fn: async (test) => {
      await using rigs = new AsyncDisposableStack();
      const machines = await Promise.all(Array.from({ length: MACHINES }, async () => {
        const machine = rigs.use(await AgentRig.create());
        await prepareAgents(machine, story);
        return machine;
      }));
      const rows = await rehearse(machines[0] as AgentRig, story);
      await Promise.all(machines.map(async (machine) => {
        for (let row = rows.shift(); row; row = rows.shift()) {
          const kill = row;
          const when = kill.after === undefined ? "" : " after the other";
          await test.step({
            ...AT_ONCE,
            name: `${kill.version}${when}: ${kill.point}`,
            fn: () => cutPower(machine, kill, story),
          });
        }
      }));
    },
  });
}

async function rehearse(machine: AgentRig, { runs, ends }: AgentStory): Promise<KillPoint[]> {
  const trace = join(machine.rig.root, "trace");
  const said = await machine.launch({ trace });
  assertEnd(said?.at(-1), ends);
  const points: KillPoint[] = [];
  for (const run of runs) {
    const [version = "", again] = run.split(" ");
    const text = await Deno.readTextFile(`${trace}-${version}${again ? "-again" : ""}`);
    const after = again ? { after: "B" } : {};
    points.push(...numbered(text).map((point) => ({ version, point, ...after })));
  }
  return points;
}

async function cutPower(machine: AgentRig, kill: KillPoint, { ends }: AgentStory): Promise<void> {
  const { rig } = machine;
  await rig.reset();
  const said = await machine.launch({ kill });
  if (said === undefined) {
    await rig.killServers();
    await rig.assertLinked("machine-agent");
    assertEnd((await machine.launch())?.at(-1), ends);
  } else {
    // How often a trial says that it comes on depends on the time that it takes.
    assert.match(kill.point, /^update\.trial\./, JSON.stringify(said));
    assertEnd(said.at(-1), ends);
  }
  assert.equal(await readTrial(machine.dir), undefined, "the guard watches nothing any more");
  await rig.assertLinked("machine-agent");
}

function assertEnd(said: Said | undefined, ends: "A" | "B"): void {
  assert(said);
  const { version, serving, agent } = said;
  const expected = ends === "B" ? { state: "idle", bad: [] } : { state: "refused", bad: ["B"] };
  assert.deepEqual(
    { version, serving, installed: agent.installed, state: agent.state, bad: agent.bad },
    { version: ends, serving: "S", installed: ends, ...expected },
    JSON.stringify(said),
  );
}
