import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { TRANSITION } from "../events/facts.ts";
import { MOST_WAITING_PER_TRIGGER } from "../delivery/deliverer.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { Firing } from "./firing.ts";
import { readTrigger } from "./trigger_definition.ts";

Deno.test("Firing.fire() leaves out and counts what comes when too much waits already", async () => {
  await using cloud = await TestCloud.open();
  const { part_id: partId } = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  const { definition } = readTrigger({
    name: "t",
    event: { type: "part_online" },
    notifications: [{ type: "email", value: "a@b.example" }, {
      type: "email",
      value: "c@d.example",
    }],
  });
  assert.ok(definition);
  let waiting = MOST_WAITING_PER_TRIGGER;
  const posted: string[] = [];
  const firing = new Firing({
    random: systemRandom,
    strict: systemClock,
    waitingOf: () => waiting,
    posted: (_partId, name) => posted.push(name),
  });
  const fire = () =>
    queries.transaction().execute((transaction) =>
      firing.fire(transaction, partId, definition, {
        at: new Date(),
        facts: () => TRANSITION,
        evaluation: () => ({}),
      })
    );
  assert.deepEqual(await fire(), { posted: 0, suppressed: 0, overflowed: 2 });
  waiting--;
  assert.deepEqual(await fire(), { posted: 2, suppressed: 0, overflowed: 0 });
  assert.deepEqual(posted, ["t"]);
  const rows = await queries.selectFrom("deliveries").select("target").execute();
  assert.deepEqual(rows.map(({ target }) => target), ["a@b.example", "c@d.example"]);
});
