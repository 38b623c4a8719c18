/** Whatever comes in whatever order: each call gets its own answer, and nothing is thrown. */
import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { type RandomSource, randomSource } from "../../test_tools/random_source.ts";
import { TestEchoService } from "../../gen/viam/component/testecho/v1/testecho_pb.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import type { Frame } from "./frame_bytes.ts";
import {
  endOfStreamFrame,
  readRequest,
  readResponse,
  requestFrame,
  responseFrame,
} from "./frames.ts";
import { RawCaller, serveEcho } from "./testing.ts";
import * as messages from "./messages_testing.ts";
import { createDataChannelTransport } from "./transport.ts";

const SEEDS = 15;

/** The frames of one call, in order, and what it shall be answered. */
interface PlannedCall {
  readonly id: number;
  readonly frames: Frame[];
  readonly expected: string[];
}

function pieces(random: RandomSource, id: bigint, message: Uint8Array, eos: boolean): Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  do {
    const end = Math.min(message.length, at + 1 + random.below(message.length + 1));
    const eom = end === message.length;
    const data = message.subarray(at, end);
    // On pieces before the last the end means nothing.
    const value = {
      hasMessage: true,
      packetMessage: { data, eom },
      eos: eom ? eos : random.chance(0.5),
    };
    frames.push(requestFrame(id, { case: "message", value }));
    at = end;
  } while (at < message.length);
  return frames;
}

function plannedCall(random: RandomSource, id: number): PlannedCall {
  const name = BigInt(id);
  const text = () => `${id}-${"x".repeat(random.below(60))}`;
  const begin = (method: string) => requestFrame(name, { case: "headers", value: { method } });
  switch (random.below(4)) {
    case 0: {
      const message = text();
      const frames = pieces(random, name, messages.echo(message), random.chance(0.5));
      return { id, frames: [begin(messages.ECHO), ...frames], expected: [message] };
    }
    case 1: {
      const words = [text(), text(), text()];
      const frames = pieces(random, name, messages.multiple(words.join(" ")), random.chance(0.5));
      return { id, frames: [begin(messages.MULTIPLE), ...frames], expected: words };
    }
    case 2: {
      const words = Array.from({ length: random.below(5) }, text);
      const frames = words.flatMap((word) => pieces(random, name, messages.bidi(word), false));
      const end = endOfStreamFrame(name);
      return { id, frames: [begin(messages.BIDI), ...frames, end], expected: words };
    }
    default: {
      const sizes = Array.from({ length: 1 + random.below(5) }, () => random.below(300));
      const frames = sizes.flatMap((size, at) =>
        pieces(random, name, messages.upload(size), at === sizes.length - 1)
      );
      const sum = sizes.reduce((all, size) => all + size, 0);
      return { id, frames: [begin(messages.UPLOAD), ...frames], expected: [String(sum)] };
    }
  }
}

/** From here on ids name no planned call. */
const OTHER_IDS = 1_000n;

/** Something that {@link someGarbage} makes and that is none of the planned calls' business. */
function garbage(random: RandomSource): Frame {
  for (;;) {
    const frame = someGarbage(random);
    const named = readRequest(frame)?.id ?? readResponse(frame)?.id ?? OTHER_IDS;
    if (named >= OTHER_IDS) return frame;
  }
}

/** Bytes that are no frame, or one that was spoiled, or a frame that means nothing here. */
function someGarbage(random: RandomSource): Frame {
  const bytes = (length: number) => Uint8Array.from({ length }, () => random.below(256));
  const id = OTHER_IDS + BigInt(random.below(20));
  const value = {
    hasMessage: random.chance(0.5),
    eos: random.chance(0.5),
    ...(random.chance(0.8) && { packetMessage: { data: bytes(9), eom: random.chance(0.5) } }),
  };
  const method = random.pick([messages.ECHO, messages.BIDI, messages.UPLOAD, "", "/", "//x"]);
  const metadata = { md: { [random.pick(["a", "é", "", "__proto__"])]: { values: ["é", "b"] } } };
  const frame = random.pick<() => Frame>([
    () => bytes(random.below(40)),
    () => requestFrame(id, { case: "message", value }),
    () => requestFrame(id, { case: "headers", value: { method } }),
    () => requestFrame(id, { case: "headers", value: { method, metadata } }),
    () => requestFrame(id, { case: "rstStream", value: random.chance(0.5) }),
    () => responseFrame(id, { case: "message", value: {} }),
    () => responseFrame(id, { case: "trailers", value: { status: { code: random.below(99) } } }),
  ])();
  if (frame.length > 0 && random.chance(0.3)) frame[random.below(frame.length)] = random.below(256);
  return frame;
}

/** One order in which all of these can come: that of each call is kept. */
function interleaved(random: RandomSource, calls: readonly PlannedCall[]): Frame[] {
  const left = calls.map(({ frames }) => [...frames]);
  const all: Frame[] = [];
  for (;;) {
    const open = left.filter(({ length }) => length > 0);
    const [first, ...others] = open;
    if (!first) return all;
    if (random.chance(0.3)) all.push(garbage(random));
    else all.push(random.pick([first, ...others]).shift()!);
  }
}

Deno.test("serveDataChannel() gives each call its own answer, however they come", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = randomSource(seed);
    const { client, reported } = serveEcho();
    const caller = new RawCaller(client);
    const calls = Array.from({ length: 30 }, (_, id) => plannedCall(random, id));
    for (const frame of interleaved(random, calls)) {
      client.send(frame);
      if (random.chance(0.1)) await new Promise((resolve) => setTimeout(resolve, 0));
    }
    for (const { id, expected } of calls) {
      const answer = await caller.ended(id);
      const where = `seed ${seed}, call ${id}`;
      assert.equal(answer.status?.code, 0, `${where}: ${answer.status?.message}`);
      const upload = expected.length === 1 && /^\d+$/.test(expected[0]!);
      const texts = upload ? messages.uploaded(answer) : messages.echoed(answer);
      assert.deepEqual(texts, expected, where);
      assert.equal(answer.order.filter((part) => part === "trailers").length, 1, where);
    }
    assert.deepEqual(reported, []);
    assert.equal(caller.closed, undefined);
  }
});

Deno.test("serveDataChannel() throws nothing out of onMessage, and lives", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = randomSource(seed);
    const { client, server } = serveEcho();
    for (let n = 0; n < 300; n++) server.onMessage(garbage(random));
    const caller = new RawCaller(client);
    caller.headers(5_000, messages.ECHO);
    caller.message(5_000, messages.echo("alive"));
    assert.deepEqual(messages.echoed(await caller.ended(5_000)), ["alive"], `seed ${seed}`);
  }
});

Deno.test("createDataChannelTransport() throws nothing out of onMessage, and lives", async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = randomSource(seed);
    const { client, seen } = serveEcho();
    const echo = createClient(TestEchoService, createDataChannelTransport(client));
    const leave = new AbortController();
    const waits = echo.echo({ message: "wait" }, { signal: leave.signal }).catch(() => "left");
    await waitFor(() => seen.begun.length, { deadlineMs: 60_000, everyMs: 1, what: "the call" });
    for (let n = 0; n < 300; n++) client.onMessage(garbage(random));
    assert.equal((await echo.echo({ message: "alive" })).message, "alive", `seed ${seed}`);
    assert.deepEqual(seen.aborted, []);
    leave.abort();
    assert.equal(await waits, "left");
  }
});
