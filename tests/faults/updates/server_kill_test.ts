/**
 * Every moment of an update of machine-server: the agent is killed there, alone or with everything
 * it started, and started again. Each time a version runs, and in the end the right one does.
 */
import assert from "node:assert/strict";
import { Rig, settled } from "./rig.ts";
import { shortStatus } from "./machine.ts";
import { SERVER_STORIES, type ServerStory } from "./stories.ts";

/** Rows of one story run in parallel on so many machines. */
const MACHINES = 3;

for (const story of SERVER_STORIES) {
  Deno.test({
    name: `a machine killed at any fault point of ${story.name} runs the old or the new version`,
    ignore: Deno.build.os !== "linux",
    fn: async (test) => {
      await using rigs = new AsyncDisposableStack();
      const prepared = await Promise.all(Array.from({ length: MACHINES }, async () => {
        const rig = rigs.use(await Rig.create());
        if (story.before) await rig.install(await rig.version("A", story.before));
        await rig.remember();
        return { rig, next: await rig.version("B", story.next) };
      }));
      const [first] = prepared;
      assert(first);
      const points = await first.rig.rehearse({ server: first.next, closedQuestions: 1 });
      const rows = points.map((point, index) => ({ point, isPowerCut: index % 2 === 0 }));
      await Promise.all(prepared.map(async (machine) => {
        for (let row = rows.shift(); row; row = rows.shift()) {
          const { point, isPowerCut } = row;
          await test.step({
            name: `${point}, ${isPowerCut ? "power cut" : "agent killed"}`,
            sanitizeOps: false,
            sanitizeResources: false,
            sanitizeExit: false,
            fn: () => killAt(story, machine, point, isPowerCut),
          });
        }
      }));
    },
  });
}

async function killAt(
  story: ServerStory,
  { rig, next }: { rig: Rig; next: Awaited<ReturnType<Rig["version"]>> },
  point: string,
  isPowerCut: boolean,
): Promise<void> {
  await rig.reset();
  const end = await rig.child({ server: next, closedQuestions: 1 }, {
    MACHINE_FAULT_POINT: point,
  });
  // How often a trial says that it comes on depends on the time that it takes, and so does whether
  // one that ended is started once more before it is taken back.
  const again = story.ends === "A" ? /^supervision\..*#[2-9]$/ : /^update\.trial\..*#[2-9]$/;
  const isCertain = !again.test(point);
  const ended = end.signal ?? `code ${end.code}`;
  const may = isCertain ? ["SIGKILL"] : ["SIGKILL", "code 0"];
  assert(may.includes(ended), `${ended}: ${end.stdout}${end.stderr}`);
  if (isPowerCut) await rig.killServers();
  if (story.before) await rig.assertLinked();

  // Without a word of the cloud first: the machine must run on its own.
  const machine = await rig.start(story.before ? {} : { server: next });
  try {
    const serving = await settled(machine);
    assert(story.may.includes(serving), `${serving} runs`);
    machine.server.setTarget(next);
    await settled(machine, story.ends, story.ends === "A" ? "refused" : "idle");
    const { server } = shortStatus(machine);
    if (story.ends === "A") {
      assert.deepEqual([server.state, server.bad], ["refused", ["B"]]);
    } else {
      assert.deepEqual([server.state, server.installed, server.bad], ["idle", "B", []]);
      if (story.before) assert.equal(server.previous, "A");
    }
    await rig.assertLinked();
  } finally {
    await machine.stop();
  }
}
