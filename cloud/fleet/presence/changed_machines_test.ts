import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { NodesRig } from "../../nodes/nodes_testing.ts";
import { ChangedMachines } from "./changed_machines.ts";

const SIGNAL = new AbortController().signal;

Deno.test("who follows an organisation learns which of its machines changed, and no others", async () => {
  const changed = new ChangedMachines();
  const followed = changed.follow("acme");
  const also = changed.follow("acme");
  changed.add("acme", "rover", "picker");
  changed.add("other", "tractor");
  assert.deepEqual(await followed.take(systemClock, 0, SIGNAL), ["rover", "picker"]);
  followed.close();
  changed.add("acme", "rover");
  assert.deepEqual(await followed.take(systemClock, 0, SIGNAL), []);
  assert.deepEqual(await also.take(systemClock, 0, SIGNAL), ["rover", "picker", "rover"]);
});

Deno.test("who does not take what changed is not remembered all of it", async () => {
  const changed = new ChangedMachines();
  const followed = changed.follow("acme");
  for (let at = 0; at < 5_000; at++) changed.add("acme", `m-${at}`);
  const taken = await followed.take(systemClock, 0, SIGNAL);
  assert.deepEqual([taken.length, taken.at(-1)], [1_000, "m-4999"]);
});

Deno.test({
  name: "what changes on a node is told to who follows on another",
  ignore: ignoreWithout(import.meta.url, "postgresql"),
  async fn() {
    await using rig = await NodesRig.start();
    const [one, other] = [await rig.join(), await rig.join()];
    await waitFor(() => [one, other].every(({ nodes }) => nodes.members().length === 2), {
      deadlineMs: 60_000,
    });
    const here = new ChangedMachines();
    const there = new ChangedMachines();
    await using _one = here.share(one.nodes, { clock: systemClock, log: one.log });
    await using _other = there.share(other.nodes, { clock: systemClock, log: other.log });
    const followed = there.follow("acme");
    here.add("other", "tractor");
    here.add("acme", "rover");
    assert.deepEqual(await followed.take(systemClock, 60_000, SIGNAL), ["rover"]);
  },
});
