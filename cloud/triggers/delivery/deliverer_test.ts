import assert from "node:assert/strict";
import { transitionFacts } from "../events/facts_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { SteadyTime } from "../../storage/steady_time/steady_time.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { Deliverer, MOST_WAITING_PER_TRIGGER, type SendNotification } from "./deliverer.ts";
import { DeliveryLog } from "./delivery_log.ts";
import { DeliveryStore } from "./delivery_store.ts";
import { type FiredEvent, postEvent } from "./outbox.ts";
import type { AttemptOutcome } from "./retry_policy.ts";

const DAY_MS = 24 * 60 * 60_000;
const DELIVERED: AttemptOutcome = { kind: "delivered", statusCode: 200, response: "" };
const failing = (statusCode?: number): AttemptOutcome => ({
  kind: "retryable",
  error: "failed",
  response: "",
  ...(statusCode === undefined ? {} : { statusCode }),
});

/** A deliverer over a real database whose receivers are a function. */
class Rig implements AsyncDisposable {
  readonly attempts: { id: string; target: string }[] = [];
  readonly failures: string[] = [];
  readonly deliverer: Deliverer;
  readonly log: DeliveryLog;

  constructor(
    readonly cloud: TestCloud,
    readonly partId: string,
    clock: Clock,
    receive: (target: string, signal: AbortSignal) => AttemptOutcome | Promise<AttemptOutcome>,
    cautious: Clock = clock,
  ) {
    const { queries } = cloud.folder.database;
    const send: SendNotification = async (row, signal) => {
      this.attempts.push({ id: row.id, target: row.target });
      return await receive(row.target, signal);
    };
    this.deliverer = new Deliverer({
      store: new DeliveryStore(cloud.folder.database),
      send,
      failed: (row) => {
        this.failures.push(row.target);
        return Promise.resolve();
      },
      foreignVersion: () => cloud.folder.database.foreignVersion(),
      clock,
      cautious,
      log: memoryLogger(),
      random: () => 0.5,
    });
    this.log = new DeliveryLog(queries, clock);
  }

  static async open(
    receive: (target: string, signal: AbortSignal) => AttemptOutcome | Promise<AttemptOutcome>,
    clock: Clock = systemClock,
    cautious: Clock = clock,
  ): Promise<Rig> {
    const cloud = await TestCloud.open({ clock });
    const made = await cloud.bootstrap();
    return new Rig(cloud, made.part_id, clock, receive, cautious);
  }

  async post(...targets: string[]): Promise<void> {
    const recipients = targets.map((target) => ({
      type: "webhook" as const,
      target,
      credentials: undefined,
    }));
    const { queries } = this.cloud.folder.database;
    await queries.transaction().execute((transaction) =>
      postEvent(transaction, this.event, recipients, systemRandom)
    );
    this.deliverer.wake();
  }

  get event(): FiredEvent {
    return {
      partId: this.partId,
      triggerName: "t",
      triggerType: "part_data_ingested",
      componentName: "c",
      methodName: "m",
      at: this.cloud.clock.now(),
      isTest: false,
      facts: transitionFacts(this.partId),
      evaluation: {},
    };
  }

  states(): Promise<string[]> {
    return this.log.list(this.partId, { limit: 500 })
      .then((all) => all.map(({ delivery }) => delivery.state).reverse());
  }

  async until(state: string, count: number): Promise<void> {
    const isSo = async () => (await this.states()).filter((one) => one === state).length >= count;
    await waitFor(isSo, { deadlineMs: 60_000, what: `${count} deliveries that are ${state}` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.deliverer.close();
    await this.cloud[Symbol.asyncDispose]();
  }
}

Deno.test("Deliverer delivers each notification once and writes its attempt down", async () => {
  await using rig = await Rig.open(() => DELIVERED);
  await rig.post("http://a/", "http://b/");
  await rig.post("http://a/");
  await rig.until("delivered", 3);
  assert.equal(new Set(rig.attempts.map(({ id }) => id)).size, 3);
  const [last] = await rig.log.list(rig.partId, { limit: 1 });
  assert.equal(last?.attempts.length, 1);
  assert.equal(last.attempts[0]?.status_code, 200);
  assert.equal(rig.deliverer.waitingOf(rig.partId, "t"), 0);
});

Deno.test("Deliverer does not make the cloud wait for the disk to write attempts down", async () => {
  await using rig = await Rig.open(() => DELIVERED);
  const { database } = rig.cloud.folder;
  const quick = database.quickTransaction.bind(database);
  let transactions = 0;
  database.quickTransaction = (work) => {
    transactions++;
    return quick(work);
  };
  await rig.post("http://a/", "http://b/");
  await rig.until("delivered", 2);
  assert.ok(transactions >= 1);
});

Deno.test("Deliverer tries again with the same id until it goes well", async () => {
  const clock = new FakeClock();
  let left = 3;
  await using rig = await Rig.open(() => left-- > 0 ? failing(500) : DELIVERED, clock);
  await rig.post("http://a/");
  for (const [at, pauseMs] of [3_750, 7_500, 15_000].entries()) {
    await untilAttempts(rig, at + 1);
    await clock.advance(pauseMs - 100);
    assert.equal(rig.attempts.length, at + 1);
    const isTriedAgain = async () => {
      await clock.advance(50);
      return rig.attempts.length > at + 1;
    };
    await waitFor(isTriedAgain, { deadlineMs: 60_000 });
  }
  await rig.until("delivered", 1);
  assert.equal(new Set(rig.attempts.map(({ id }) => id)).size, 1);
  const [delivery] = await rig.log.list(rig.partId, { limit: 1 });
  assert.deepEqual(delivery?.attempts.map(({ number, error }) => [number, error]), [
    [1, "failed"],
    [2, "failed"],
    [3, "failed"],
    [4, ""],
  ]);
});

/** Waits until so many attempts of the newest notification are written down. */
async function untilAttempts(rig: Rig, attempts: number): Promise<void> {
  const isWritten = async () => {
    const [one] = await rig.log.list(rig.partId, { limit: 1 });
    return one?.delivery.attempts === attempts;
  };
  await waitFor(isWritten, { deadlineMs: 60_000, what: `attempt ${attempts}` });
}

Deno.test("Deliverer stops retrying after 24 hours", async () => {
  const clock = new FakeClock();
  // Time goes by in leaps, so that not every second of the day is waited for.
  const leaping: Clock = {
    now: () => clock.now(),
    monotonicMs: () => clock.now().getTime(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    setTimer: (ms, run) => clock.setTimer(ms, run),
  };
  await using rig = await Rig.open(() => failing(500), leaping);
  await rig.post("http://a/");
  const isOver = async () => {
    clock.setNow(clock.now().getTime() + 10 * 60_000);
    await clock.advance(1_000);
    return (await rig.states())[0] === "failed";
  };
  await waitFor(isOver, { deadlineMs: 60_000, everyMs: 1 });
  const [delivery] = await rig.log.list(rig.partId, { limit: 1 });
  const last = delivery?.attempts.at(-1);
  assert.ok((delivery?.attempts.length ?? 0) >= 14, String(delivery?.attempts.length));
  const hours = ((last?.started_at ?? 0) - (delivery?.delivery.created_at ?? 0)) / 3_600_000;
  assert.ok(hours >= 24 && hours < 24.5, String(hours));
});

Deno.test("Deliverer does not let a dead or slow endpoint delay the others", async () => {
  const released = Promise.withResolvers<AttemptOutcome>();
  await using rig = await Rig.open((target) =>
    target === "http://dead/" ? released.promise : DELIVERED
  );
  for (let n = 0; n < 30; n++) await rig.post("http://dead/", `http://well-${n % 3}/`);
  await rig.until("delivered", 30);
  assert.equal(rig.attempts.filter(({ target }) => target === "http://dead/").length, 2);
  released.resolve(DELIVERED);
  await rig.until("delivered", 60);
});

Deno.test("Deliverer takes up what waited when the cloud starts again", async () => {
  const clock = new FakeClock();
  await using rig = await Rig.open((_, signal) => rejectedBy(signal), clock);
  await rig.post("http://a/", "http://b/");
  await waitFor(() => rig.attempts.length === 2, { deadlineMs: 60_000 });
  const closing = rig.deliverer.close();
  await clock.advance(3_000);
  await closing;
  assert.deepEqual(await rig.states(), ["pending", "pending"]);

  const second = new Rig(rig.cloud, rig.partId, clock, () => DELIVERED);
  second.deliverer.wake();
  await second.until("delivered", 2);
  assert.deepEqual(
    second.attempts.map(({ id }) => id).sort(),
    rig.attempts.map(({ id }) => id).sort(),
    "the same ids as before",
  );
  await second.deliverer.close();
});

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  );
}

Deno.test("Deliverer delivers what another process posted or replayed", async () => {
  await using rig = await Rig.open(() => DELIVERED);
  rig.deliverer.wake();
  const { database: other } = await openDataFolder(rig.cloud.dataDir, systemRandom);
  try {
    const recipient = { type: "webhook", target: "http://a/", credentials: undefined } as const;
    await postEvent(other.queries, rig.event, [recipient], systemRandom);
    await rig.until("delivered", 1);
    const id = rig.attempts[0]?.id ?? "";
    await new DeliveryLog(other.queries, systemClock).replay(rig.partId, id);
    await waitFor(() => rig.attempts.length === 2, { deadlineMs: 60_000 });
    assert.equal(rig.attempts[1]?.id, id);
    await rig.until("delivered", 1);
  } finally {
    await other.close();
  }
});

Deno.test("Deliverer leaves an endpoint in peace for as long as Retry-After asks", async () => {
  const clock = new FakeClock();
  let answer: AttemptOutcome = { ...failing(429), retryAfterMs: 60_000 } as AttemptOutcome;
  await using rig = await Rig.open(() => answer, clock);
  await rig.post("http://a/");
  await untilAttempts(rig, 1);
  answer = DELIVERED;
  await rig.post("http://a/");
  await clock.advance(59_000);
  assert.equal(rig.attempts.length, 1, "the second one waits too");
  const isDelivered = async () => {
    await clock.advance(1_000);
    return (await rig.states()).every((state) => state === "delivered");
  };
  await waitFor(isDelivered, { deadlineMs: 60_000 });
});

Deno.test("Deliverer counts what waits for each trigger", async () => {
  const clock = new FakeClock();
  await using rig = await Rig.open(() => failing(), clock);
  for (let n = 0; n < 20; n++) await rig.post("http://a/");
  await waitFor(() => rig.deliverer.waitingOf(rig.partId, "t") === 20, { deadlineMs: 60_000 });
  assert.equal(rig.deliverer.waitingOf(rig.partId, "other"), 0);
  assert.ok(MOST_WAITING_PER_TRIGGER > 20);
});

Deno.test("Deliverer forgets the notifications of a part that is deleted", async () => {
  const clock = new FakeClock();
  await using rig = await Rig.open(() => failing(), clock);
  await rig.post("http://a/");
  await untilAttempts(rig, 1);
  await rig.cloud.folder.database.queries.deleteFrom("machines").execute();
  await clock.advance(60_000);
  assert.equal(rig.attempts.length, 1);
});

Deno.test("Deliverer waits as long as before when the host's clock jumps a year", async () => {
  for (const jumpMs of [365 * DAY_MS, -365 * DAY_MS]) {
    const clock = new FakeClock();
    const time = new SteadyTime(clock);
    await using rig = await Rig.open(() => failing(), clock, time.cautious);
    await time.load(rig.cloud.folder.database.queries, memoryLogger());
    await rig.post("http://a/");
    await untilAttempts(rig, 1);
    clock.setNow(clock.now().getTime() + jumpMs);
    for (let attempts = 2; attempts <= 4; attempts++) {
      const isTried = async () => {
        await clock.advance(5_000);
        return rig.attempts.length >= attempts;
      };
      await waitFor(isTried, { deadlineMs: 60_000, what: `attempt ${attempts}` });
      assert.ok(clock.monotonicMs() < 120_000, "as if it had not jumped");
    }
    assert.deepEqual(await rig.states(), ["pending"], "it is retried");
    await rig.deliverer.close();

    const after = new Rig(rig.cloud, rig.partId, clock, () => DELIVERED, time.cautious);
    after.deliverer.wake();
    const isDelivered = async () => {
      await clock.advance(5_000);
      return (await after.states())[0] === "delivered";
    };
    await waitFor(isDelivered, { deadlineMs: 60_000, what: "delivery by the next process" });
    await after.deliverer.close();
  }
});
