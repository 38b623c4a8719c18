import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { WatchResponseSchema } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { watchCloud } from "./watch.ts";

type Event = MessageInitShape<typeof WatchResponseSchema>["event"];

/** A watch over streams that the test scripts; each entry is one connection. */
function setUp(streams: ((signal: AbortSignal) => AsyncIterable<Event>)[]) {
  const clock = new FakeClock();
  const log = memoryLogger();
  const seen: string[] = [];
  const stop = new AbortController();
  let connections = 0;
  const done = watchCloud({
    client: {
      async *watch(_request, options) {
        const stream = streams[Math.min(connections++, streams.length - 1)]!;
        for await (const event of stream(options!.signal!)) {
          yield create(WatchResponseSchema, event && { event });
        }
      },
    },
    partId: "p1",
    clock,
    log,
    backoff: new Backoff({ minMs: 500, maxMs: 30_000, random: () => 1 }),
    handlers: {
      connected: () => void seen.push("connected"),
      alive: (revision) => void seen.push(`alive ${revision}`),
      unreliable: () => void seen.push("unreliable"),
      configChanged: (revision) => void seen.push(`config ${revision}`),
      accessChanged: () => void seen.push("access"),
      liveRequested: (ms) => void seen.push(`live ${ms}`),
      restartRequested: () => void seen.push("restart"),
    },
  }, stop.signal);
  return { clock, log, seen, stop, done, connections: () => connections };
}

/** A stream that says nothing more until it is aborted. */
function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

const keepalive: Event = { case: "keepalive", value: { revision: "r1" } };

Deno.test("watchCloud() hands every kind of event on", async () => {
  const { clock, seen, stop, done } = setUp([async function* (signal): AsyncIterable<Event> {
    yield { case: "configChanged", value: { revision: "r1" } };
    yield keepalive;
    yield { case: "accessChanged", value: {} };
    yield { case: "liveRequested", value: { duration: durationFromMs(10_000) } };
    yield { case: "restartRequested", value: {} };
    yield undefined;
    await silence(signal);
  }]);
  await clock.advance(0);
  const events = ["config r1", "alive r1", "access", "live 10000", "restart"];
  assert.deepEqual(seen, ["connected", ...events]);
  stop.abort();
  await done;
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("watchCloud() connects again with growing waits when the stream breaks", async () => {
  const broken = async function* (): AsyncGenerator<Event> {
    await Promise.reject(new ConnectError("gone", Code.Unavailable));
    yield keepalive;
  };
  const good = async function* (signal: AbortSignal): AsyncIterable<Event> {
    yield keepalive;
    await silence(signal);
  };
  const short = async function* (): AsyncIterable<Event> {
    yield keepalive;
    await broken().next();
  };
  const { clock, seen, stop, done, connections } = setUp([broken, broken, broken, short, good]);
  await clock.advance(0);
  assert.equal(connections(), 1);
  await clock.advance(500);
  assert.equal(connections(), 2);
  await clock.advance(999);
  assert.equal(connections(), 2);
  await clock.advance(1 + 2_000);
  assert.equal(connections(), 4);
  const broke = ["unreliable", "unreliable", "unreliable"];
  assert.deepEqual(seen, [...broke, "connected", "alive r1", "unreliable"]);
  await clock.advance(500);
  assert.equal(connections(), 5, "a stream that worked makes the next wait short again");
  stop.abort();
  await done;
});

Deno.test("watchCloud() reports a silent stream after 13 s and reconnects after 30 s", async () => {
  const { clock, seen, stop, done, connections } = setUp([
    async function* (signal): AsyncIterable<Event> {
      yield keepalive;
      await silence(signal);
    },
  ]);
  await clock.advance(12_999);
  assert.deepEqual(seen, ["connected", "alive r1"]);
  await clock.advance(1);
  assert.deepEqual(seen, ["connected", "alive r1", "unreliable"]);
  await clock.advance(16_000);
  assert.equal(connections(), 1);
  await clock.advance(2_000);
  assert.equal(connections(), 2);
  stop.abort();
  await done;
});

Deno.test("watchCloud() ends when the cloud has no push channel", async () => {
  const { log, done, connections } = setUp([async function* (): AsyncIterable<Event> {
    await Promise.reject(new ConnectError("no such method", Code.Unimplemented));
    yield keepalive;
  }]);
  await done;
  assert.equal(connections(), 1);
  assert.match(log.messages("info")[0]!, /no push channel/);
});
