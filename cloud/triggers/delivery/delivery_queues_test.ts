import assert from "node:assert/strict";
import {
  DeliveryQueues,
  type EndpointSign,
  SLOW_AFTER_MS,
  type Waiting,
} from "./delivery_queues.ts";

const WELL: EndpointSign = { kind: "well" };
const LIMITS = { total: 10, quick: 8, troubled: 3, perEndpoint: 4 };
const MANY = 1_000;

let seq = 0;
const waiting = (endpoint: string, dueMs = 0): Waiting => ({ seq: ++seq, endpoint, dueMs });

function queuesWith(counts: Readonly<Record<string, number>>): DeliveryQueues {
  const queues = new DeliveryQueues(LIMITS);
  for (const [endpoint, count] of Object.entries(counts)) {
    for (let n = 0; n < count; n++) queues.add(waiting(endpoint));
  }
  return queues;
}

const endpointsOf = (taken: readonly Waiting[]) => taken.map(({ endpoint }) => endpoint).join("");

/** Ends all that was taken well, and takes again: endpoints that are known to be there. */
function takeAgain(queues: DeliveryQueues, nowMs = 0): Waiting[] {
  for (const one of queues.take(nowMs, MANY)) queues.ended(one, WELL, undefined);
  return queues.take(nowMs, MANY);
}

Deno.test("DeliveryQueues.take() gives each endpoint its share, and no more than the limits", () => {
  const queues = queuesWith({ a: 20, b: 3 });
  assert.equal(endpointsOf(takeAgain(queues)), "aaaab");
  for (let n = 0; n < 5; n++) queues.add(waiting(`x${n}`));
  assert.equal(endpointsOf(queues.take(0, MANY)), "x0x1x2");
  assert.equal(queues.underWay, LIMITS.quick);
  assert.deepEqual(queues.take(0, MANY), []);
});

Deno.test("DeliveryQueues.take() asks an unknown endpoint twice, and more after each delivery", () => {
  const queues = queuesWith({ a: 20 });
  const [first, second] = queues.take(0, MANY);
  assert.ok(first && second);
  assert.deepEqual(queues.take(0, MANY), []);
  assert.equal(queues.nextMs(), undefined, "nothing can start before something ends");
  queues.ended(first, WELL, undefined);
  assert.equal(queues.take(0, MANY).length, 3);
  queues.ended(second, WELL, undefined);
  assert.equal(queues.take(0, MANY).length, 1);
  assert.equal(queues.underWay, LIMITS.perEndpoint);
});

Deno.test("DeliveryQueues.take() lets the others go on a second after many began to hang", () => {
  const queues = queuesWith({ p: 2, q: 2, r: 2, s: 2, t: 2, well: 1 });
  assert.equal(endpointsOf(queues.take(0, MANY)), "ppqqrrss");
  assert.deepEqual(queues.take(SLOW_AFTER_MS - 1, MANY), []);
  assert.equal(queues.nextMs(), SLOW_AFTER_MS, "then those that hang are set aside");
  assert.equal(endpointsOf(queues.take(SLOW_AFTER_MS, MANY)), "tt");
  assert.equal(queues.underWay, LIMITS.total);
});

Deno.test("DeliveryQueues.take() never waits for what is known to be away", () => {
  const queues = queuesWith({ p: 3, q: 3, r: 3, s: 3 });
  for (const one of queues.take(0, MANY)) {
    queues.ended(one, { kind: "unreachable", holdUntilMs: 10 }, 10);
  }
  assert.equal(endpointsOf(queues.take(10, MANY)), "pqr", "one each, and only so many");
  for (let n = 0; n < LIMITS.quick; n++) queues.add(waiting(`well-${n}`));
  assert.equal(queues.take(10, MANY).length, LIMITS.total - LIMITS.troubled);
});

Deno.test("DeliveryQueues.take() serves those first that waited longest for their turn", () => {
  const queues = queuesWith({ a: 20, b: 20 });
  const [first] = queues.take(0, 1);
  const [second] = queues.take(0, 1);
  assert.equal(`${first?.endpoint}${second?.endpoint}`, "ab");
});

Deno.test("DeliveryQueues.take() gives what is due, the most urgent first", () => {
  const queues = new DeliveryQueues(LIMITS);
  const late = waiting("a", 300);
  const soon = waiting("a", 100);
  const soonToo = waiting("a", 100);
  for (const one of [late, soon, soonToo]) queues.add(one);
  queues.add(soon);
  assert.deepEqual(queues.take(99, MANY), []);
  assert.equal(queues.nextMs(), 100);
  assert.deepEqual(queues.take(100, MANY), [soon, soonToo]);
  for (const one of [soon, soonToo]) queues.ended(one, WELL, undefined);
  assert.equal(queues.nextMs(), 300);
  queues.add({ ...late, dueMs: 50 });
  assert.deepEqual(queues.take(100, MANY).map((one) => one.seq), [late.seq]);
});

Deno.test("DeliveryQueues asks an endpoint that is away one at a time, after each pause", () => {
  const queues = queuesWith({ a: 9 });
  const taken = takeAgain(queues);
  assert.equal(taken.length, 4);
  for (const one of taken) queues.ended(one, { kind: "unreachable", holdUntilMs: 500 }, 900);
  assert.deepEqual(queues.take(499, MANY), []);
  assert.equal(queues.nextMs(), 500);
  const [probe, ...more] = queues.take(500, MANY);
  assert.ok(probe);
  assert.equal(more.length, 0);
  queues.ended(probe, WELL, undefined);
  assert.equal(queues.take(500, MANY).length, 2, "it is back: some more with each delivery");
});

Deno.test("DeliveryQueues leaves an endpoint alone after three failing answers in a row", () => {
  const queues = queuesWith({ a: 11 });
  const failed: EndpointSign = { kind: "failed", holdUntilMs: 500 };
  const [one, two, three, four] = takeAgain(queues);
  assert.ok(one && two && three && four);
  queues.ended(one, failed, 900);
  queues.ended(two, failed, 900);
  queues.ended(three, WELL, undefined);
  queues.ended(four, failed, 900);
  assert.equal(queues.take(0, MANY).length, 4);
  assert.equal(queues.underWay, 4);
});

Deno.test("DeliveryQueues holds so many of one endpoint, and asks for the rest when they are gone", () => {
  const queues = new DeliveryQueues(LIMITS);
  for (let n = 0; n < 1_500; n++) queues.add(waiting("a"));
  assert.deepEqual(queues.takeHungry(), []);
  let ended = 0;
  for (let taken = queues.take(0, MANY); taken.length > 0; taken = queues.take(0, MANY)) {
    for (const one of taken) queues.ended(one, WELL, undefined);
    ended += taken.length;
  }
  assert.equal(ended, 1_000);
  assert.deepEqual(queues.takeHungry(), ["a"]);
  assert.deepEqual(queues.takeHungry(), []);
});
