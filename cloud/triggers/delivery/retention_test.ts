import assert from "node:assert/strict";
import { transitionFacts } from "../events/facts_testing.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { type FiredEvent, postEvent } from "./outbox.ts";
import { DeliveryRetention, KEEP_DELIVERIES_MS, KEPT_PER_TRIGGER } from "./retention.ts";

Deno.test("DeliveryRetention.sweep() deletes what is over and old, and nothing that waits", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { part_id: partId } = await cloud.bootstrap();
  const { queries } = cloud.folder.database;
  const retention = new DeliveryRetention(queries, clock, memoryLogger());
  const event = (triggerName: string): FiredEvent => ({
    partId,
    triggerName,
    triggerType: "part_online",
    componentName: undefined,
    methodName: undefined,
    at: clock.now(),
    isTest: false,
    facts: transitionFacts(partId),
    evaluation: {},
  });
  const recipient = (target: string) =>
    ({ type: "webhook", target, credentials: undefined }) as const;
  const finish = (triggerName: string) =>
    queries.updateTable("deliveries")
      .set({ state: "delivered", finished_at: clock.now().getTime() })
      .where("trigger_name", "=", triggerName).execute();
  const left = async () => {
    const rows = await queries.selectFrom("deliveries").innerJoin(
      "trigger_events",
      "trigger_events.seq",
      "deliveries.event_seq",
    ).select(["deliveries.trigger_name", (eb) => eb.fn.countAll<number>().as("count")])
      .groupBy("deliveries.trigger_name").execute();
    return Object.fromEntries(rows.map((row) => [row.trigger_name, row.count]));
  };
  await queries.transaction().execute(async (transaction) => {
    const two = [recipient("http://a/"), recipient("http://b/")];
    for (let n = 0; n < 3; n++) await postEvent(transaction, event("old"), two, systemRandom);
    await postEvent(transaction, event("waits"), two, systemRandom);
    for (let n = 0; n < KEPT_PER_TRIGGER + 250; n++) {
      await postEvent(transaction, event("busy"), [recipient("http://a/")], systemRandom);
    }
  });
  await finish("old");
  await finish("busy");
  await queries.updateTable("deliveries").set({ state: "failed", finished_at: 1 })
    .where("trigger_name", "=", "waits").where("target", "=", "http://a/").execute();

  await retention.sweep();
  assert.deepEqual(await left(), { busy: KEPT_PER_TRIGGER + 250, old: 6, waits: 2 });
  retention.fired(partId, "busy");
  await sweepWith(clock, retention);
  assert.deepEqual(await left(), { busy: KEPT_PER_TRIGGER, old: 6, waits: 2 });
  clock.setNow(clock.now().getTime() + KEEP_DELIVERIES_MS + 1);
  await sweepWith(clock, retention);
  assert.deepEqual(await left(), { waits: 2 });
});

/** The sweep pauses between its slices. */
async function sweepWith(clock: FakeClock, retention: DeliveryRetention): Promise<void> {
  let isOver = false;
  const sweeping = retention.sweep().finally(() => isOver = true);
  while (!isOver) await clock.advance(5);
  await sweeping;
}
