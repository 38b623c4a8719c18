import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import {
  AgentInfoSchema,
  type ConfigRequest,
  ConfigResponseSchema,
} from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { CloudSource } from "./cloud_source.ts";

/** A source whose cloud answers what the test says. */
function setUp() {
  const clock = new FakeClock();
  const log = memoryLogger();
  const offered: string[] = [];
  const refused: string[] = [];
  const asked: { id?: string | undefined; version?: string | undefined }[] = [];
  let answer: () => string = () => "r1";
  const stop = new AbortController();
  const source = new CloudSource({
    client: {
      config: (request) => {
        const { id, agentInfo } = request as Partial<ConfigRequest>;
        asked.push({ id, version: agentInfo?.version });
        return Promise.resolve().then(() =>
          create(ConfigResponseSchema, { config: { revision: answer() } })
        );
      },
    },
    partId: "p1",
    agentInfo: () => create(AgentInfoSchema, { version: "1.2.3" }),
    clock,
    log,
    random: () => 1,
    offer: ({ config }) => {
      offered.push(config.revision);
      return Promise.resolve();
    },
    refuse: (reason) => void refused.push(reason),
  });
  const fails = (code: Code) => () => {
    throw new ConnectError("no", code);
  };
  return {
    ...{ clock, log, offered, refused, asked, stop, source, fails },
    answers: (next: () => string) => answer = next,
  };
}

Deno.test("run() asks every 10 s, and at once when it is told of a change", async () => {
  const { clock, source, stop, asked, offered, answers } = setUp();
  const running = source.run(stop.signal);
  await clock.advance(9_999);
  assert.equal(asked.length, 0);
  await clock.advance(1);
  assert.deepEqual(asked, [{ id: "p1", version: "1.2.3" }]);
  answers(() => "r2");
  source.refresh();
  await clock.advance(0);
  assert.deepEqual(offered, ["r1", "r2"]);
  await clock.advance(10_000);
  assert.equal(asked.length, 3);
  stop.abort();
  await running;
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("run() does not poll while a stream reports the revision that it has", async () => {
  const { clock, source, stop, asked, offered, answers } = setUp();
  const running = source.run(stop.signal);
  source.refresh();
  for (let n = 0; n < 29; n++) {
    await clock.advance(10_000);
    source.streamed("r1");
  }
  assert.equal(asked.length, 2, "one with the refresh, one before the stream was known to work");
  answers(() => "r2");
  source.streamed("r2");
  await clock.advance(0);
  assert.deepEqual(offered, ["r1", "r1", "r2"]);
  await clock.advance(5 * 60_000);
  assert.equal(asked.length, 4, "now and again all the same");
  stop.abort();
  await running;
});

Deno.test("run() finds a change within 15 s although the stream died unnoticed", async () => {
  const { clock, source, stop, asked, offered, answers } = setUp();
  const running = source.run(stop.signal);
  source.refresh();
  await clock.advance(10_000);
  source.streamed("r1");
  await clock.advance(1);
  answers(() => "r2"); // Nobody reports it.
  await clock.advance(12_999);
  source.unstreamed(); // As after 13 s of silence, see watch_test.ts.
  await clock.advance(0);
  assert.equal(offered.at(-1), "r2");
  const before = asked.length;
  await clock.advance(10_000);
  assert.equal(asked.length, before + 1, "it polls again");
  stop.abort();
  await running;
});

Deno.test("run() goes on polling when the stream reports no revisions", async () => {
  const { clock, source, stop, asked } = setUp();
  const running = source.run(stop.signal);
  for (let n = 0; n < 6; n++) {
    await clock.advance(10_000);
    source.streamed("");
  }
  assert.equal(asked.length, 6);
  stop.abort();
  await running;
});

Deno.test("run() asks once more when a change is told while the answer is on its way", async () => {
  const { clock, source, stop, asked, answers } = setUp();
  answers(() => {
    if (asked.length === 1) source.refresh();
    return "r";
  });
  const running = source.run(stop.signal);
  source.refresh();
  await clock.advance(0);
  assert.equal(asked.length, 2);
  stop.abort();
  await running;
});

Deno.test("run() tries again with growing waits while the cloud is away, and tells it once", async () => {
  const { clock, source, stop, asked, offered, log, answers, fails } = setUp();
  answers(fails(Code.Unavailable));
  const running = source.run(stop.signal);
  source.refresh();
  await clock.advance(0);
  await clock.advance(1_000 + 2_000 + 4_000 + 8_000 + 10_000);
  assert.equal(asked.length, 6);
  assert.equal(log.messages("warn").length, 1);
  answers(() => "r9");
  await clock.advance(10_000);
  assert.deepEqual(offered, ["r9"]);
  assert.deepEqual(log.messages("info"), ["the cloud answers again"]);
  stop.abort();
  await running;
});

Deno.test("run() says what to do when the cloud refuses the credentials", async () => {
  const { clock, source, stop, log, answers, fails } = setUp();
  answers(fails(Code.Unauthenticated));
  const running = source.run(stop.signal);
  source.refresh();
  await clock.advance(0);
  assert.match(log.messages("error")[0]!, /refuses the credentials.*credentials file/);
  stop.abort();
  await running;
});

Deno.test("run() reports an answer that is no configuration", async () => {
  const { clock, source, stop, refused, answers, fails } = setUp();
  answers(fails(Code.InvalidArgument));
  const running = source.run(stop.signal);
  source.refresh();
  await clock.advance(0);
  assert.match(refused[0]!, /not a configuration/);
  stop.abort();
  await running;
});
