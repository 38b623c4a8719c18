import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { TestEchoService } from "../../gen/viam/component/testecho/v1/testecho_pb.ts";
import {
  HIGH_WATER_BYTES,
  MAX_FRAME_BYTES,
  type MessageChannel,
} from "../../rtc/webrtc/channel.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { RpcRouter } from "../server/router.ts";
import { FrameWriter } from "./frame_writer.ts";
import type { Frame } from "./frame_bytes.ts";
import { serveEcho } from "./testing.ts";
import { createDataChannelTransport } from "./transport.ts";

/** A channel that sends only when a test says so. */
class SlowChannel implements MessageChannel {
  readonly frames: string[] = [];
  bufferedBytes = 0;
  closes = 0;
  onMessage = () => {};
  onDrained = () => {};
  onClosed = () => {};

  send(bytes: Frame): void {
    this.frames.push(new TextDecoder().decode(bytes.subarray(0, 2)));
    this.bufferedBytes += bytes.length;
  }
  drain(): void {
    this.bufferedBytes = 0;
    this.onDrained();
  }
  close(): void {
    this.closes++;
  }
}

/** Frames of `size` bytes that begin with the name and their number. */
function* named(name: string, count: number, size: number): Generator<Frame> {
  for (let n = 0; n < count; n++) {
    const frame = new Uint8Array(size);
    frame.set(new TextEncoder().encode(`${name}${n}`));
    yield frame;
  }
}

const never = () => new AbortController().signal;
/** Five frames of this size fill the channel. */
const SIZE = HIGH_WATER_BYTES / 4;

Deno.test("FrameWriter sends at once while there is room", () => {
  const channel = new SlowChannel();
  const writer = new FrameWriter(channel);
  const signal = () => assert.fail("the signal is not needed");
  assert.equal(writer.sendAll(named("a", 4, SIZE), signal), undefined);
  assert.deepEqual(channel.frames, ["a0", "a1", "a2", "a3"]);
});

Deno.test("FrameWriter waits for room, and lets messages take turns", async () => {
  const channel = new SlowChannel();
  const writer = new FrameWriter(channel);
  const long = writer.sendAll(named("a", 9, SIZE), never);
  const other = writer.sendAll(named("b", 3, SIZE), never);
  const short = writer.sendAll(named("c", 1, SIZE), never);
  assert.deepEqual(channel.frames.splice(0), ["a0", "a1", "a2", "a3", "a4"]);
  channel.drain();
  assert.deepEqual(channel.frames.splice(0), ["a5", "b0", "c0", "a6", "b1"]);
  channel.drain();
  assert.deepEqual(channel.frames.splice(0), ["a7", "b2", "a8"]);
  await Promise.all([long, other, short]);
});

Deno.test("FrameWriter gives a message up when its signal aborts, and goes on with the others", async () => {
  const channel = new SlowChannel();
  const writer = new FrameWriter(channel);
  const leave = new AbortController();
  void writer.sendAll(named("a", 5, SIZE), never);
  const left = writer.sendAll(named("b", 3, SIZE), () => leave.signal);
  const stays = writer.sendAll(named("c", 1, SIZE), never);
  leave.abort();
  await left;
  assert.equal(writer.sendAll(named("d", 1, SIZE), () => leave.signal), undefined);
  channel.drain();
  await stays;
  assert.deepEqual(channel.frames.slice(5), ["c0"]);
});

Deno.test("FrameWriter gives everything up when the channel has closed", async () => {
  const channel = new SlowChannel();
  const writer = new FrameWriter(channel);
  const waits = writer.sendAll(named("a", 9, SIZE), never);
  writer.end();
  await waits;
  writer.send(new Uint8Array(1));
  assert.equal(channel.frames.length, 5);
});

Deno.test("FrameWriter closes a channel that refuses a frame", () => {
  const channel = new SlowChannel();
  const writer = new FrameWriter(channel);
  channel.send = () => {
    throw new Error("too long");
  };
  writer.send(new Uint8Array(1));
  assert.equal(channel.closes, 1);
});

Deno.test("serveDataChannel() makes no more answers than a slow reader takes", async () => {
  const text = "x".repeat(60_000);
  let made = 0;
  const router = new RpcRouter().service(TestEchoService, {
    async *echoMultiple() {
      while (made < 50) {
        made++;
        yield { message: text };
      }
    },
    echo: ({ message }) => ({ message }),
  });
  const { client, server, served } = serveEcho({ router });
  const echo = createClient(TestEchoService, createDataChannelTransport(client));
  server.held = true;
  const all = (async () => {
    const lengths: number[] = [];
    for await (const { message } of echo.echoMultiple({})) lengths.push(message.length);
    return lengths;
  })();
  const full = () => server.bufferedBytes > HIGH_WATER_BYTES;
  await waitFor(full, { deadlineMs: 60_000, everyMs: 1, what: "a full channel" });
  const other = echo.echo({ message: "other" });
  await waitFor(() => served.activeCalls === 2, { deadlineMs: 60_000, everyMs: 1, what: "a call" });
  assert.ok(server.bufferedBytes <= HIGH_WATER_BYTES + MAX_FRAME_BYTES, `${server.bufferedBytes}`);
  assert.ok(made <= 6, `${made} were made`);
  server.held = false;
  assert.equal((await other).message, "other");
  assert.deepEqual(await all, Array(50).fill(text.length));
});

Deno.test("createDataChannelTransport() takes no more requests than a slow reader does", async () => {
  const { client, seen } = serveEcho();
  const echo = createClient(TestEchoService, createDataChannelTransport(client));
  let made = 0;
  const requests = async function* () {
    while (made < 50) yield { message: `${made++}${"x".repeat(60_000)}` };
  };
  client.held = true;
  const all = (async () => {
    let count = 0;
    for await (const { message } of echo.echoBiDi(requests())) {
      assert.ok(message.startsWith(`${count++}x`));
    }
    return count;
  })();
  const full = () => client.bufferedBytes > HIGH_WATER_BYTES;
  await waitFor(full, { deadlineMs: 60_000, everyMs: 1, what: "a full channel" });
  assert.ok(made <= 6, `${made} were made`);
  assert.equal(seen.begun.length, 0);
  client.held = false;
  assert.equal(await all, 50);
});
