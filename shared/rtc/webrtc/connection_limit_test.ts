import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { FakePeers, type FakePeersOptions } from "../signaling/fake_peers.ts";
import { FakeClock } from "../../base/time/fake_clock.ts";
import { ConnectionLimit, OPEN_TIMEOUT_MS } from "./connection_limit.ts";

function setUp(most = 2, fake: FakePeersOptions = {}) {
  const clock = new FakeClock();
  const callers = new FakePeers(fake);
  const signal = new AbortController().signal;
  let timesNone = 0;
  const limit = new ConnectionLimit({
    ...{ peers: callers, clock, most, full: "there are enough" },
    onNone: () => timesNone++,
  });
  const options = { iceServers: [], trickle: false, signal };
  const connect = async () => {
    const calling = await callers.offer(options);
    const { peer, sdp } = await limit.answer(calling.sdp, options);
    await calling.accept(sdp);
    return peer;
  };
  return { clock, limit, options, connect, none: () => timesNone };
}

Deno.test("ConnectionLimit refuses one connection too many, until another has ended", async () => {
  const { limit, connect, none } = setUp(2);
  const [first, second] = [await connect(), await connect()];
  await assert.rejects(connect, (error: ConnectError) => error.code === Code.ResourceExhausted);
  assert.equal(limit.count, 2);
  await first.close();
  await connect().then((third) => third.close());
  assert.deepEqual([limit.count, none()], [1, 0]);
  await second.close();
  assert.deepEqual([limit.count, none()], [0, 1]);
});

Deno.test("ConnectionLimit counts no offer that cannot be answered", async () => {
  const { limit, options } = setUp(1);
  for (let n = 0; n < 3; n++) {
    await assert.rejects(() => limit.answer("garbage", options), /invalid_argument/);
  }
  assert.equal(limit.count, 0);
});

Deno.test("ConnectionLimit drops what does not open", async () => {
  const { clock, limit, connect } = setUp(2, { blocked: true });
  const silent = await connect();
  await clock.advance(OPEN_TIMEOUT_MS - 1);
  assert.equal(limit.count, 1);
  await clock.advance(1);
  assert.equal(await silent.closed, "closed");
  assert.equal(limit.count, 0);
});

Deno.test("ConnectionLimit leaves what opened", async () => {
  const { clock, limit, connect } = setUp();
  const open = await connect();
  await clock.advance(OPEN_TIMEOUT_MS);
  assert.equal(limit.count, 1);
  await open.close();
});
