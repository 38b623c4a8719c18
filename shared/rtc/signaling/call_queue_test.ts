import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { CallQueue } from "./call_queue.ts";
import type { AnswererSide, CallerSide, Offer, PlacedCall, WaitingAnswerer } from "./call_sides.ts";
import type { CallQueueLimits } from "./limits.ts";

/** Both sides record what they receive. */
class Told implements CallerSide, AnswererSide {
  readonly heard: string[] = [];
  uuid = "";

  answered = (sdp: string) => void this.heard.push(`answered ${sdp}`);
  candidate = ({ candidate }: { candidate: string }) => void this.heard.push(candidate);
  done = () => void this.heard.push("done");
  offered = (uuid: string, { sdp }: Offer) => {
    this.uuid = uuid;
    this.heard.push(`offered ${sdp}`);
  };
  ended = (error: ConnectError | undefined) =>
    void this.heard.push(error ? `ended ${Code[error.code]}: ${error.rawMessage}` : "ended");
}

class Rig {
  readonly clock = new FakeClock();
  readonly queue: CallQueue;
  #uuids = 0;

  constructor(limits: Partial<CallQueueLimits> = {}) {
    this.queue = new CallQueue({ clock: this.clock, uuid: () => `call-${++this.#uuids}`, limits });
  }

  call(host = "m", sdp = "offer", owner = "ann"): { told: Told; call: PlacedCall } {
    const told = new Told();
    const caller = { owner, entity: owner, metadata: {} };
    return { told, call: this.queue.call(host, { sdp, disableTrickle: false, caller }, told) };
  }

  answer(...hosts: string[]): { told: Told; answerer: WaitingAnswerer } {
    const told = new Told();
    return { told, answerer: this.queue.answer(hosts.length > 0 ? hosts : ["m"], told) };
  }

  send(uuid: string, candidate: string, { host = "m", owner = "ann" } = {}): void {
    this.queue.update(host, uuid, owner, { kind: "candidate", candidate: { candidate } });
  }

  done(uuid: string, { host = "m", owner = "ann" } = {}): void {
    this.queue.update(host, uuid, owner, { kind: "done" });
  }

  /** Nothing is left: no call, no host, no timer. */
  assertEmpty(): void {
    const { callCount, hostCount } = this.queue;
    assert.deepEqual([callCount, hostCount, this.clock.pendingTimers], [0, 0, 0]);
  }
}

function code(run: () => unknown): Code {
  try {
    run();
  } catch (error) {
    return ConnectError.from(error).code;
  }
  assert.fail("it did not throw");
}

Deno.test("CallQueue brings a caller and an answerer together, whoever comes first", () => {
  for (const callerFirst of [true, false]) {
    const rig = new Rig();
    const before = callerFirst ? rig.call() : undefined;
    const { told: machine, answerer } = rig.answer();
    const { told: caller, call } = before ?? rig.call();

    // Candidates before the answer come behind it.
    rig.send(call.uuid, "c1");
    answerer.candidate({ candidate: "m1" });
    assert.deepEqual(caller.heard, []);
    answerer.answer("answer");
    answerer.candidate({ candidate: "m2" });
    rig.send(call.uuid, "c2");
    answerer.done();
    rig.send(call.uuid, "c3");
    rig.done(call.uuid);

    assert.deepEqual(caller.heard, ["answered answer", "m1", "m2", "ended"]);
    assert.deepEqual(machine.heard, ["offered offer", "c1", "c2", "c3", "done", "ended"]);
    rig.assertEmpty();
  }
});

Deno.test("CallQueue tells after 5 s that nobody answers", async () => {
  const rig = new Rig();
  const { told } = rig.call();
  await rig.clock.advance(4_999);
  assert.deepEqual(told.heard, []);
  await rig.clock.advance(1);
  assert.deepEqual(told.heard, [
    "ended NotFound: host appears to be offline; ensure machine is online and try again",
  ]);
  rig.assertEmpty();
});

Deno.test("CallQueue lets a call wait for its whole life while all answerers are busy", async () => {
  const rig = new Rig();
  const { answerer } = rig.answer();
  const busy = rig.call();
  const { told, call } = rig.call();
  await rig.clock.advance(9_000);
  assert.deepEqual(told.heard, []);
  const second = rig.answer();
  assert.deepEqual(second.told.heard, ["offered offer"]);
  assert.equal(second.told.uuid, call.uuid);
  call.leave();
  busy.call.leave();
  answerer.leave();
  rig.assertEmpty();
});

Deno.test("CallQueue tells a caller to come back when all answerers stayed busy", async () => {
  const rig = new Rig();
  rig.answer();
  const busy = rig.call();
  const { told } = rig.call();
  await rig.clock.advance(10_000);
  assert.match(busy.told.heard[0] ?? "", /^ended DeadlineExceeded/);
  assert.deepEqual(told.heard, [
    "ended Unavailable: too many connection attempts; please wait a bit and try again",
  ]);
  rig.assertEmpty();
});

Deno.test("CallQueue does not call a machine offline that came while the call waited", async () => {
  const rig = new Rig();
  rig.call();
  const { told } = rig.call();
  await rig.clock.advance(1_000);
  rig.answer();
  await rig.clock.advance(8_999);
  assert.deepEqual(told.heard, []);
  await rig.clock.advance(1);
  assert.match(told.heard[0] ?? "", /^ended Unavailable: too many connection attempts/);
  rig.assertEmpty();
});

Deno.test("CallQueue.call() is UNAVAILABLE when too many wait for a host", () => {
  const rig = new Rig({ waitingCalls: 2, calls: 3 });
  const calls = [rig.call(), rig.call()];
  assert.equal(code(() => rig.call()), Code.Unavailable);
  calls.push(rig.call("other"));
  assert.equal(code(() => rig.call("third")), Code.Unavailable);
  calls[0]?.call.leave();
  calls[0] = rig.call();
  for (const { call } of calls) call.leave();
  rig.assertEmpty();
});

Deno.test("CallQueue.call() is UNAVAILABLE when one caller has too many, and others may call", () => {
  const rig = new Rig({ callerCalls: 2 });
  const calls = [rig.call("a"), rig.call("b")];
  assert.equal(code(() => rig.call("c")), Code.Unavailable);
  calls.push(rig.call("c", "offer", "bob"));
  calls[0]?.call.leave();
  calls.push(rig.call("c"));
  for (const { call } of calls) call.leave();
  for (const { call } of [rig.call("a"), rig.call("b")]) call.leave();
  rig.assertEmpty();
});

Deno.test("CallQueue ends a call at its deadline", async () => {
  const tooLong = /^ended DeadlineExceeded: the two did not come to a connection within 10 s/;
  const offered = new Rig();
  const machine = offered.answer();
  const caller = offered.call();
  await offered.clock.advance(10_000);
  assert.match(caller.told.heard.join("\n"), tooLong);
  const [offer, end] = machine.told.heard;
  assert.equal(offer, "offered offer");
  assert.match(end ?? "", tooLong);
  offered.assertEmpty();

  // A caller does not have to say that it is done.
  const answered = new Rig();
  const other = answered.answer();
  const { told } = answered.call();
  other.answerer.answer("a");
  other.answerer.done();
  assert.deepEqual(told.heard, ["answered a", "ended"]);
  await answered.clock.advance(10_000);
  assert.deepEqual(other.told.heard, ["offered offer", "done", "ended"]);
  answered.assertEmpty();
});

Deno.test("CallQueue tells the machine when its caller goes away, before and after the answer", () => {
  for (const isAnswered of [false, true]) {
    const rig = new Rig();
    const { told, answerer } = rig.answer();
    const { told: caller, call } = rig.call();
    if (isAnswered) answerer.answer("a");
    call.leave();
    call.leave();
    assert.deepEqual(told.heard, ["offered offer", "ended Canceled: the caller went away"]);
    assert.deepEqual(caller.heard, isAnswered ? ["answered a"] : []);
    assert.equal(code(() => rig.send(call.uuid, "late")), Code.NotFound);
    rig.assertEmpty();
  }
});

Deno.test("CallQueue lets a caller leave that has said all it had to say", () => {
  const rig = new Rig();
  const { told, answerer } = rig.answer();
  const { call } = rig.call();
  answerer.answer("a");
  rig.done(call.uuid);
  call.leave();
  answerer.candidate({ candidate: "m" });
  answerer.done();
  assert.deepEqual(told.heard, ["offered offer", "done", "ended"]);
  rig.assertEmpty();
});

Deno.test("CallQueue gives a call on when who took it goes away without an answer", () => {
  const rig = new Rig();
  const { told: waiting, answerer: other } = rig.answer();
  const first = rig.answer();
  const { told: caller, call } = rig.call();
  rig.send(call.uuid, "c1");
  first.answerer.candidate({ candidate: "of the first" });
  assert.deepEqual(first.told.heard, ["offered offer", "c1"]);
  rig.done(call.uuid);
  first.answerer.leave();
  assert.deepEqual(waiting.heard, ["offered offer", "c1", "done"]);
  assert.deepEqual(caller.heard, []);
  // What the first still says goes nowhere.
  first.answerer.answer("late");
  first.answerer.fail(new ConnectError("late"));
  other.answer("a");
  other.done();
  assert.deepEqual(caller.heard, ["answered a", "ended"]);
  rig.assertEmpty();
});

Deno.test("CallQueue hands a call on twice at most: its offer may be what ends the machine", () => {
  const rig = new Rig();
  const answerers = [rig.answer(), rig.answer(), rig.answer(), rig.answer()];
  const { told } = rig.call();
  for (const { answerer } of answerers.slice(1).reverse()) answerer.leave();
  assert.match(told.heard[0] ?? "", /^ended Unavailable: the machine went away/);
  assert.deepEqual(answerers[0]?.told.heard, []);
  answerers[0]?.answerer.leave();
  rig.assertEmpty();
});

Deno.test("CallQueue tells the caller at once when nobody else can take its call", () => {
  for (const isAnswered of [false, true]) {
    const rig = new Rig();
    const { answerer } = rig.answer();
    const { told } = rig.call();
    if (isAnswered) answerer.answer("a");
    answerer.leave();
    assert.equal(
      told.heard.at(-1),
      "ended Unavailable: the machine went away before the connection stood; try again",
    );
    rig.assertEmpty();
  }
});

Deno.test("CallQueue tells the caller why the machine cannot answer", () => {
  const rig = new Rig();
  const { told: machine, answerer } = rig.answer();
  const { told } = rig.call();
  answerer.fail(new ConnectError("no more connections", Code.ResourceExhausted));
  assert.deepEqual(told.heard, ["ended ResourceExhausted: no more connections"]);
  assert.deepEqual(machine.heard, ["offered offer", "ended"]);
  rig.assertEmpty();
});

Deno.test("CallQueue.update() knows a call only for its caller and its host", () => {
  const rig = new Rig();
  const { told, answerer } = rig.answer();
  const { call } = rig.call();
  const { uuid } = call;
  for (
    const [id, as] of [["nonsense", {}], [uuid, { owner: "bob" }], [uuid, { host: "n" }]] as const
  ) {
    assert.equal(code(() => rig.send(id, "c", as)), Code.NotFound);
    assert.equal(code(() => rig.done(id, as)), Code.NotFound);
  }
  assert.deepEqual(told.heard, ["offered offer"]);
  answerer.leave();
});

Deno.test("CallQueue bounds candidates, of both sides, in number and size", () => {
  const rig = new Rig({ candidates: 2, candidateChars: 10 });
  const { told, answerer } = rig.answer();
  const { call } = rig.call();
  assert.equal(code(() => rig.send(call.uuid, "x".repeat(11))), Code.InvalidArgument);
  for (const candidate of ["c1", "c2"]) rig.send(call.uuid, candidate);
  assert.equal(code(() => rig.send(call.uuid, "c3")), Code.ResourceExhausted);
  for (const candidate of ["m1", "m2"]) answerer.candidate({ candidate });
  assert.equal(code(() => answerer.candidate({ candidate: "m3" })), Code.ResourceExhausted);
  assert.deepEqual(told.heard, ["offered offer", "c1", "c2"]);
  call.leave();
});

Deno.test("CallQueue refuses what an answerer says out of order", () => {
  const rig = new Rig();
  const { answerer } = rig.answer();
  assert.equal(code(() => answerer.answer("early")), Code.FailedPrecondition);
  assert.equal(code(() => answerer.candidate({ candidate: "early" })), Code.FailedPrecondition);
  const { call } = rig.call();
  assert.equal(code(() => answerer.done()), Code.FailedPrecondition);
  answerer.answer("a");
  assert.equal(code(() => answerer.answer("b")), Code.FailedPrecondition);
  call.leave();
});

Deno.test("CallQueue.answer() dismisses the oldest stream that waits when there are too many", () => {
  const rig = new Rig({ answerers: 2 });
  const busy = rig.answer();
  rig.call();
  const oldest = rig.answer();
  const newest = rig.answer();
  assert.match(oldest.told.heard[0] ?? "", /^ended Aborted/);
  assert.deepEqual(busy.told.heard, ["offered offer"]);
  rig.call();
  assert.deepEqual(newest.told.heard, ["offered offer"]);
  assert.equal(code(() => rig.answer()), Code.ResourceExhausted);
  rig.queue.close();
  rig.assertEmpty();
});

Deno.test("CallQueue.answer() answers for several hosts, one call in all", () => {
  const rig = new Rig();
  const { told, answerer } = rig.answer("a", "b");
  const one = rig.call("b", "to b");
  rig.call("a", "to a").call.leave();
  assert.deepEqual(told.heard, ["offered to b"]);
  answerer.leave();
  assert.match(one.told.heard[0] ?? "", /^ended Unavailable/);
  rig.assertEmpty();
});

Deno.test("CallQueue.close() ends all with UNAVAILABLE", () => {
  const rig = new Rig();
  const told = [rig.answer("a").told, rig.call("b").told];
  rig.answer("c");
  told.push(rig.call("c").told);
  rig.queue.close();
  for (const { heard } of told) assert.match(heard.at(-1) ?? "", /^ended Unavailable/);
  assert.equal(code(() => rig.call("a")), Code.Unavailable);
  assert.equal(code(() => rig.answer("a")), Code.Unavailable);
  rig.assertEmpty();
});

/** Numbers that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

Deno.test("CallQueue never loses, doubles or mixes calls, in whatever order things happen", async () => {
  for (let seed = 1; seed <= 150; seed++) {
    await randomRun(seeded(seed), `seed ${seed}`);
  }
});

async function randomRun(random: () => number, name: string): Promise<void> {
  const rig = new Rig({ waitingCalls: 4, answerers: 4 });
  const hosts = ["a", "b", "c"];
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)];
  const calls: (ReturnType<Rig["call"]> & { host: string; left?: boolean })[] = [];
  const answerers: (ReturnType<Rig["answer"]> & { left?: boolean })[] = [];
  const ignoring = (run: () => void) => {
    try {
      run();
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
    }
  };
  const steps: (() => void | Promise<void>)[] = [
    () => {
      const host = pick(hosts) ?? "";
      ignoring(() => calls.push({ ...rig.call(host, `offer to ${host}`, host), host }));
    },
    () => ignoring(() => void answerers.push(rig.answer(pick(hosts) ?? "", pick(hosts) ?? ""))),
    () => {
      const { call, host } = pick(calls) ?? {};
      if (call && host) {
        ignoring(() => rig.send(call.uuid, `from ${call.uuid}`, { host, owner: host }));
      }
    },
    () => {
      const { call, host } = pick(calls) ?? {};
      if (call && host && random() < 0.3) {
        ignoring(() => rig.done(call.uuid, { host, owner: host }));
      }
    },
    () => {
      const one = pick(calls);
      if (!one || random() < 0.7) return;
      one.left = true;
      one.call.leave();
    },
    () => {
      const { answerer, told } = pick(answerers) ?? {};
      ignoring(() => answerer?.answer(`answer to ${told?.uuid}`));
    },
    () => {
      const { answerer, told } = pick(answerers) ?? {};
      ignoring(() => answerer?.candidate({ candidate: `to ${told?.uuid}` }));
    },
    () => {
      if (random() < 0.5) ignoring(() => pick(answerers)?.answerer.done());
    },
    () => {
      const one = pick(answerers);
      if (!one || random() < 0.7) return;
      one.left = true;
      one.answerer.leave();
    },
    () => {
      if (random() < 0.2) pick(answerers)?.answerer.fail(new ConnectError("cannot"));
    },
    () => rig.clock.advance(random() * 1_500),
  ];
  for (let step = 0; step < 120; step++) await pick(steps)?.();
  await rig.clock.advance(20_000);
  for (const one of answerers) {
    one.left = true;
    one.answerer.leave();
  }

  for (const { told: { heard }, call: { uuid }, left } of calls) {
    const ends = heard.filter((line) => line.startsWith("ended"));
    assert.ok(ends.length === 1 || (left && ends.length === 0), `${name}: ${uuid} ${heard}`);
    assert.ok(ends.length === 0 || heard.at(-1) === ends[0], `${name}: end last ${heard}`);
    const answers = heard.filter((line) => line.startsWith("answered"));
    assert.ok(answers.length <= 1, `${name}: one answer ${heard}`);
    for (const [at, line] of heard.entries()) {
      if (line.startsWith("answered")) assert.equal(line, `answered answer to ${uuid}`, name);
      if (line.startsWith("to")) assert.equal(line, `to ${uuid}`, name);
      if (line.startsWith("to")) assert.ok(at > heard.indexOf(answers[0] ?? ""), `${name}: order`);
    }
  }
  for (const { told: { heard, uuid } } of answerers) {
    assert.equal(heard.filter((line) => line.startsWith("ended")).length, 1, `${name}: ${heard}`);
    assert.ok(heard.at(-1)?.startsWith("ended"), `${name}: end last ${heard}`);
    const offers = heard.filter((line) => line.startsWith("offered"));
    assert.ok(offers.length <= 1, `${name}: one call a stream ${heard}`);
    const call = calls.find((one) => one.call.uuid === uuid);
    if (call) assert.equal(offers[0], `offered offer to ${call.host}`, name);
    for (const line of heard) if (line.startsWith("from")) assert.equal(line, `from ${uuid}`, name);
  }
  rig.assertEmpty();
}
