/** Two nodes of one cloud, killed and stopped at random while programs and machines use them. */
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeReceiver } from "../../cloud/triggers/delivery/fake_receiver.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import {
  type RandomSource,
  randomSource,
  withSeed,
} from "../../shared/test_tools/random_source.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { Cluster, DEADLINE } from "./cluster.ts";
import { Load } from "./cluster_load.ts";
import { CalledMachines } from "./cluster_machines.ts";
import { TRAINING_OPTIONS, Trainings } from "./cluster_trainings.ts";

const ignore = ignoreWithout(import.meta.url, "postgresql");
/** How often a node is killed or stopped: `KILLS=200` for a long run. */
const KILLS = Number(Deno.env.get("KILLS") ?? 2);

Deno.test({
  name: "two nodes that are killed and stopped at random lose nothing that was acknowledged",
  ignore,
  fn: () =>
    withSeed(async (seed) => {
      const random = randomSource(seed);
      await using receiver = FakeReceiver.start();
      await using cluster = await Cluster.start([
        ...["--allow-private-webhooks", ...TRAINING_OPTIONS],
      ]);
      await using machines = await CalledMachines.start(cluster);
      const trainings = await Trainings.on(cluster);
      await machines.call();
      await trainings.takesOver();
      await machines.call();
      const load = await Load.on(cluster, receiver);
      const over = new AbortController();
      const loading = Promise.all([load.run(over.signal), trainings.run(over.signal)]);
      for (let kill = 0; kill < KILLS; kill++) {
        const before = load.lines.size;
        await Promise.all([
          waitFor(() => load.lines.size > before + 30, DEADLINE),
          machines.call(),
        ]);
        await disturb(cluster, random, kill % 2 === 0 ? "kill" : "stop");
      }
      await machines.call();
      over.abort();
      await loading;
      const delivered = await load.check(receiver);
      const { completed, cut } = await trainings.check();
      process.stderr.write(
        `${KILLS} kills: ${load.lines.size} lines, ${load.readings.size} readings, ${load.saved} ` +
          `saves, ${delivered} notifications, ${completed} jobs completed and ${cut} cut twice\n`,
      );
    }),
});

/** Kills a node and starts it again, or stops it for longer than others wait for it. */
async function disturb(
  cluster: Cluster,
  random: RandomSource,
  how: "kill" | "stop",
): Promise<void> {
  const node = random.below(2);
  const port = cluster.ports[node] ?? 0;
  const program = cluster.program(node);
  program.signal(how === "kill" ? "SIGKILL" : "SIGSTOP");
  await waitFor(() => !cluster.balancer.ready.has(port), DEADLINE);
  if (how === "stop") {
    await sleep(random.below(12_000));
    program.signal("SIGCONT");
  } else {
    await program.exited;
    cluster.run(node);
  }
  await waitFor(() => cluster.balancer.ready.size === 2, DEADLINE);
}
