import assert from "node:assert/strict";
import { H2Connection } from "./connection.ts";
import type { HeaderList } from "./fields.ts";
import { ANSWER_HEADERS, FakePeer, SeenAnswer } from "./fake_peer.ts";
import { encodeFrame, encodeSettings, ErrorCode, Flag, FrameType, PREFACE } from "./frames.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import { BLOCK } from "./connection_testing.ts";
import { FakeClient } from "./fake_client.ts";

const ROUNDS = 300;
const REQUEST: HeaderList = [":method", "POST", ":scheme", "http", ":path", "/a"];

/** Numbers that look random and are the same at every run (mulberry32). */
function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = state + 0x6d2b79f5 | 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) % below;
  };
}

function noise(below: (n: number) => number, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => below(256));
}

/** A frame that is well-formed more often than not. */
function anyFrame(below: (n: number) => number, begin: HeaderList): Uint8Array {
  const types = Object.values(FrameType);
  const type = below(20) === 0 ? below(256) : types[below(types.length)]!;
  const flags = below(3) === 0 ? below(256) : [0, Flag.endStream, Flag.endHeaders, 5][below(4)]!;
  const fixed: Record<number, number> = {
    [FrameType.priority]: 5,
    [FrameType.rstStream]: 4,
    [FrameType.settings]: 6 * below(4),
    [FrameType.ping]: 8,
    [FrameType.goaway]: 8,
    [FrameType.windowUpdate]: 4,
  };
  const length = below(20) === 0 ? below(40) : fixed[type] ?? below(200);
  const isHeaders = type === FrameType.headers && below(3) > 0;
  const payload = isHeaders ? encodeHeaders(below(4) ? begin : ["a", "b"]) : noise(below, length);
  const onConnection = [FrameType.settings, FrameType.ping, FrameType.goaway] as number[];
  const streamId = below(20) === 0 ? below(100) : onConnection.includes(type) ? 0 : below(8);
  return encodeFrame(type, flags, streamId, payload);
}

/** Every request has to be notified exactly once that it is over, whatever the peer reported. */
async function survives(seed: number, speech: (below: (n: number) => number) => Uint8Array[]) {
  const below = random(seed);
  const peer = new FakePeer();
  const connection = new H2Connection({ connect: () => Promise.resolve(peer) });
  const answers = Array.from({ length: 4 }, () => new SeenAnswer());
  for (const [n, answer] of answers.entries()) {
    const stream = connection.request(BLOCK, answer);
    stream.send(new Uint8Array(below(200_000)), { end: n % 2 === 0 });
    if (n === 3) stream.reset(ErrorCode.cancel);
  }
  for (const bytes of speech(below)) {
    // In pieces, so that frames are cut anywhere.
    const cut = below(bytes.length + 1);
    peer.send(bytes.slice(0, cut), bytes.slice(cut));
  }
  peer.end();
  await peer.until(() => answers.every(({ outcome }) => outcome), `the end of seed ${seed}`);
  await peer.until(() => peer.closed, `the end of the socket of seed ${seed}`);
  assert.deepEqual(answers.map(({ closings }) => closings), [1, 1, 1, 1], `seed ${seed}`);
}

Deno.test("H2Connection survives any bytes", async () => {
  for (let seed = 0; seed < ROUNDS; seed++) {
    await survives(seed, (below) => [
      ...(seed % 2 ? [encodeSettings([])] : []),
      noise(below, 1 + below(500)),
      noise(below, below(30_000)),
    ]);
  }
});

Deno.test("H2Connection survives any frames in any order", async () => {
  for (let seed = 0; seed < 3 * ROUNDS; seed++) {
    await survives(seed, (below) => [
      encodeSettings([]),
      ...Array.from({ length: below(40) }, () => anyFrame(below, ANSWER_HEADERS)),
    ]);
  }
});

/**
 * Every request has to end exactly once, and what is held for it goes back, whatever the client
 * reported.
 */
function servesThrough(seed: number, speech: (below: (n: number) => number) => Uint8Array[]) {
  const below = random(seed);
  const client = new FakeClient({
    onStream: (stream) => {
      if (below(2)) stream.sendHeaders({ repeated: [], others: [":status", "200"] });
      if (below(2)) stream.pause();
      if (below(2)) stream.send(new Uint8Array(below(100_000)));
      if (below(2)) stream.end({ repeated: [], others: ["grpc-status", "0"] });
    },
  });
  for (const bytes of speech(below)) {
    const cut = below(bytes.length + 1);
    client.send(bytes.slice(0, cut), bytes.slice(cut));
  }
  client.connection.lost();
  for (const request of client.requests) {
    const ends = request.failures.length + (request.stream.ended ? 1 : 0);
    assert.ok(request.stream.closed && ends > 0, `seed ${seed}: stream ${request.stream.id}`);
    assert.ok(request.failures.length <= 1, `seed ${seed}: stream ${request.stream.id}`);
  }
  assert.equal(client.connection.streams, 0, `seed ${seed}`);
  assert.equal(client.ends, 1, `seed ${seed}`);
}

Deno.test("ServedConnection survives any bytes", () => {
  for (let seed = 0; seed < ROUNDS; seed++) {
    servesThrough(seed, (below) => [
      ...(seed % 2 ? [PREFACE, encodeSettings([])] : []),
      noise(below, 1 + below(500)),
      noise(below, below(30_000)),
    ]);
  }
});

Deno.test("ServedConnection survives any frames in any order", () => {
  for (let seed = 0; seed < 3 * ROUNDS; seed++) {
    servesThrough(seed, (below) => [
      PREFACE,
      encodeSettings([]),
      ...Array.from({ length: below(40) }, () => anyFrame(below, REQUEST)),
    ]);
  }
});
