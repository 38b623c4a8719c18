/** The node that leads is stopped, and wakes up when another one leads. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeReceiver } from "../../cloud/triggers/delivery/fake_receiver.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import type { Program } from "../e2e/program.ts";
import { Cluster, DEADLINE } from "./cluster.ts";
import { Load } from "./cluster_load.ts";

const NO_LEADER = "this node does not lead any more";
/** How long it sleeps when another one leads: `PAUSE_S=60` for a long one. */
const PAUSE_S = Number(Deno.env.get("PAUSE_S") ?? 0);

Deno.test({
  name: "a leader that stood still leads no more, and nothing is lost or there twice",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using receiver = FakeReceiver.start();
    await using cluster = await Cluster.start(["--allow-private-webhooks"]);
    const load = await Load.on(cluster, receiver);
    const over = new AbortController();
    const loading = load.run(over.signal);
    const more = (count: () => number, by: number) => {
      const before = count();
      return waitFor(() => count() > before + by, DEADLINE);
    };
    const notified = () => receiver.requests.length;
    await Promise.all([more(() => load.lines.size, 30), more(notified, 3)]);

    const [paused, program] = await stopLeader(cluster);
    const firstTerm = await term(cluster);
    const led = linesOf(program, NO_LEADER);
    await waitFor(async () => await term(cluster) > firstTerm, DEADLINE);
    assert.equal(await cluster.leader(), 1 - paused);
    // The other one serves and notifies alone.
    await Promise.all([more(() => load.lines.size, 30), more(notified, 3)]);
    await sleep(PAUSE_S * 1_000);

    program.signal("SIGCONT");
    await waitFor(() => linesOf(program, NO_LEADER) > led, DEADLINE);
    await waitFor(() => cluster.balancer.ready.size === 2, DEADLINE);
    await Promise.all([more(() => load.lines.size, 30), more(notified, 3)]);

    over.abort();
    await loading;
    await load.check(receiver);
    const ids = receiver.requests.map(({ headers }) => headers.get("webhook-id"));
    // What a leader has sent when it stands still is sent once more by the next one.
    const most = 1 + await term(cluster) - firstTerm;
    const often = Map.groupBy(ids, (id) => id).values().filter(({ length }) => length > most);
    assert.deepEqual([...often], [], `notifications that came more than ${most} times`);
  },
});

/** Stops the leader; it may have lost the lead just before. */
async function stopLeader(cluster: Cluster): Promise<[number, Program]> {
  for (;;) {
    const leader = await cluster.leader();
    const program = cluster.program(leader);
    program.signal("SIGSTOP");
    if (await cluster.leader() === leader) return [leader, program];
    program.signal("SIGCONT");
  }
}

const linesOf = (program: Program, text: string) =>
  program.lines.filter((line) => line.includes(text)).length;

/** Counts who led. */
async function term(cluster: Cluster): Promise<number> {
  return Number(await cluster.database.query("select term from machine_cloud.node_leader"));
}
