/**
 * Kills machines in the middle of updates at random moments, for `make faults`. After each kill the
 * machine is started without a word of the cloud, and must run a version that works.
 */
import assert from "node:assert/strict";
import { parseFlags, renderHelp } from "../../../shared/base/flags/flags.ts";
import type { Target } from "../../../agent/updates/updater/target.ts";
import { AgentRig } from "./agent_rig.ts";
import { Rig, settled } from "./rig.ts";

const flags = {
  program: "make faults",
  summary: "Kills machines in the middle of updates at random moments.",
  flags: {
    kills: { type: "integer", default: 1_000, min: 1, doc: "How often." },
    seed: { type: "integer", default: 0, min: 0, doc: "Of the choices; 0: a new one." },
    machines: { type: "integer", default: 3, min: 1, max: 32, doc: "Side by side." },
  },
} as const;

/** One in so many kills is a power cut in an update of the agent itself. */
const AGENT_SHARE = 5;
/** A child needs about 200 ms until it begins, and 300 ms for an update. */
const LONGEST_MS = 700;

/** A version that gives no answer fails its trial after so long. */
const LIMITS = { unhealthyMs: 400 };

const { values, help } = parseFlags(Deno.args, flags);
if (help) {
  print(renderHelp(flags));
  Deno.exit(0);
}
const seed = values.seed || crypto.getRandomValues(new Uint32Array(1))[0] || 1;
const random = mulberry32(seed);
const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
print(`${values.kills} kills, seed ${seed}`);

let left = values.kills;
let killed = 0;
const startedMs = performance.now();
await Promise.all(Array.from({ length: values.machines }, async (_, index) => {
  await using rig = await Rig.create();
  const versions = await serverVersions(rig);
  await rig.install(versions[0] as Target);
  await using agents = await AgentRig.create();
  const target = await agents.version("B", undefined, { bringsSchemaOn: true });
  await agents.version("B", target, { bringsSchemaOn: true, settlesAt: "never" });
  await agents.version("A", target, { settlesAt: "never" });
  while (left-- > 0) {
    const isAgent = random() * AGENT_SHARE < 1;
    try {
      await (isAgent ? killAgent(agents) : killServer(rig, versions));
    } catch (error) {
      const kind = isAgent ? "agent" : "server";
      print(`machine ${index}, ${kind}, after ${killed} kills, seed ${seed}: ${error}`);
      throw error;
    }
    killed++;
    if (killed % 100 === 0) {
      print(`${killed} kills, ${Math.round((performance.now() - startedMs) / 1000)} s`);
    }
  }
}));
print(`${killed} kills: after each of them a machine that runs`);
Deno.exit(0);

async function serverVersions(rig: Rig): Promise<Target[]> {
  return [
    await rig.version("A", "serves"),
    await rig.version("B", "serves"),
    await rig.version("C", "serves with a newer schema"),
    await rig.version("D", "ends at once with a newer schema"),
    await rig.version("E", "hangs after it served"),
  ];
}

async function killServer(rig: Rig, versions: readonly Target[]): Promise<void> {
  const server = pick(versions);
  await rig.killedChild({ server, settlesAt: "never", limits: LIMITS }, random() * LONGEST_MS);
  if (random() < 0.5) await rig.killServers();
  await rig.assertLinked();
  const machine = await rig.start({ limits: LIMITS });
  try {
    const serving = await settled(machine);
    assert(["A", "B", "C"].includes(serving), `${serving} serves`);
    // So that each version is tried again, and not only once.
    machine.server.forgetBad();
  } finally {
    await machine.stop();
  }
}

async function killAgent(agents: AgentRig): Promise<void> {
  await agents.rig.reset();
  await agents.killedLaunch(random() * 3 * LONGEST_MS);
  await agents.rig.killServers();
  await agents.rig.assertLinked("machine-agent");
  const agent = await agents.launchUntilSettled();
  assert(["A", "B"].includes(agent), `${agent} runs`);
}

/** A small generator with a seed. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}
