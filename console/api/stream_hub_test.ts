import assert from "node:assert/strict";
import { Envelopes } from "./envelopes.ts";
import { type FromHub, StreamHub, type ToHub } from "./stream_hub.ts";

const GONE_MS = 61_000;

function envelope(text: string): Uint8Array<ArrayBuffer> {
  const message = new TextEncoder().encode(text);
  const bytes = new Uint8Array(5 + message.length);
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, 5);
  return bytes;
}

/** A cloud whose streams the test writes, and windows. */
function scene() {
  const streams: { write: (bytes: Uint8Array) => void; end: () => void; signal: AbortSignal }[] =
    [];
  let now = 0;
  const hub = new StreamHub({
    nowMs: () => now,
    fetch: (_url, init) => {
      const signal = init!.signal!;
      const body = new ReadableStream<Uint8Array>({
        start(controller) {
          streams.push({
            write: (bytes) => controller.enqueue(bytes),
            end: () => controller.close(),
            signal,
          });
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      });
      const headers = { "content-type": "application/connect+proto" };
      return Promise.resolve(new Response(body, { headers }));
    },
  });
  const windowOf = (takes = true) => {
    const got: FromHub[] = [];
    const say = hub.connect((message) => {
      got.push(message);
      if (takes && message.kind === "bytes") say({ kind: "taken", id: message.id });
    });
    const open = (
      key: string,
      replay: "all" | "first" = "all",
      id = 1,
      silenceMs?: number,
    ): void =>
      say({
        ...{ kind: "open", id, key, replay, url: "/", headers: [], body: new Uint8Array() },
        silenceMs,
      });
    const texts = () =>
      got.flatMap((message) => message.kind === "bytes" ? message.bytes : [])
        .map((bytes) => new TextDecoder().decode(bytes.subarray(5)));
    return { got, say: (message: ToHub) => say(message), open, texts };
  };
  return { hub, streams, windowOf, later: (ms: number) => void (now += ms) };
}

/** What was written has been passed on. */
const settled = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("Envelopes.take() cuts between messages, however the bytes come", () => {
  const all = new Uint8Array([...envelope("one"), ...envelope(""), ...envelope("three")]);
  for (const size of [1, 2, 7, all.length]) {
    const envelopes = new Envelopes();
    const found: string[] = [];
    for (let at = 0; at < all.length; at += size) {
      for (const bytes of envelopes.take(all.subarray(at, at + size))) {
        found.push(new TextDecoder().decode(bytes.subarray(5)));
      }
    }
    assert.deepEqual(found, ["one", "", "three"], `${size}`);
  }
});

Deno.test("StreamHub opens one stream for windows that want the same, and gives each all of it", async () => {
  const { hub, streams, windowOf } = scene();
  const [one, two, other] = [windowOf(), windowOf(), windowOf()];
  one.open("a");
  await settled();
  const cut = envelope("second");
  streams[0]!.write(new Uint8Array([...envelope("first"), ...cut.subarray(0, 8)]));
  await settled();
  two.open("a");
  other.open("b");
  await settled();
  assert.equal(streams.length, 2);
  streams[0]!.write(cut.subarray(8));
  await settled();
  assert.deepEqual(one.texts(), ["first", "second"]);
  assert.deepEqual(two.texts(), ["first", "second"]);
  assert.deepEqual(two.got.map(({ kind }) => kind), ["ready", "head", "bytes", "bytes"]);
  assert.deepEqual(other.texts(), []);
  streams[0]!.end();
  await settled();
  assert.equal(one.got.at(-1)?.kind, "end");
  assert.equal(hub.size, 1);
});

Deno.test("StreamHub gives the first message only, where the others do not count later", async () => {
  const { streams, windowOf } = scene();
  const [one, two] = [windowOf(), windowOf()];
  one.open("log", "first");
  await settled();
  for (const text of ["follows", "old"]) streams[0]!.write(envelope(text));
  await settled();
  two.open("log", "first");
  streams[0]!.write(envelope("new"));
  await settled();
  assert.deepEqual(one.texts(), ["follows", "old", "new"]);
  assert.deepEqual(two.texts(), ["follows", "new"]);
});

Deno.test("StreamHub ends a stream with its last window, and says when one breaks", async () => {
  const { hub, streams, windowOf } = scene();
  const [one, two] = [windowOf(), windowOf()];
  one.open("a");
  two.open("a");
  await settled();
  one.say({ kind: "close", id: 1 });
  assert.equal(streams[0]!.signal.aborted, false);
  two.say({ kind: "close", id: 1 });
  assert.equal(streams[0]!.signal.aborted, true);
  assert.equal(hub.size, 0);
  one.open("a", "all", 2);
  await settled();
  assert.equal(streams.length, 2);
  streams[1]!.write(envelope("it is there"));
  await settled();
  const failing = new StreamHub({ nowMs: () => 0, fetch: () => Promise.reject(new TypeError()) });
  const got: FromHub[] = [];
  failing.connect((message) => got.push(message))(
    { kind: "open", id: 7, key: "a", replay: "all", url: "/", headers: [], body: new Uint8Array() },
  );
  await settled();
  assert.deepEqual(got.at(-1), { kind: "failed", id: 7 });
  assert.equal(failing.size, 0);
});

Deno.test("StreamHub drops a window that takes nothing, and says so when it comes back", async () => {
  const { hub, streams, windowOf, later } = scene();
  const dead = windowOf(false);
  dead.open("a");
  await settled();
  streams[0]!.write(envelope("one"));
  await settled();
  later(GONE_MS);
  streams[0]!.write(envelope("two"));
  await settled();
  assert.equal(streams[0]!.signal.aborted, true);
  assert.equal(hub.size, 0);
  dead.say({ kind: "taken", id: 1 });
  assert.equal(dead.got.at(-1)?.kind, "failed");
});

Deno.test("StreamHub keeps a bound of what was sent, and opens another stream beyond it", async () => {
  const { streams, windowOf } = scene();
  const [one, two] = [windowOf(), windowOf()];
  one.open("a");
  await settled();
  streams[0]!.write(envelope("x".repeat(17 * 1024 * 1024)));
  await settled();
  two.open("a");
  await settled();
  assert.equal(streams.length, 2);
  streams[0]!.write(envelope("still"));
  await settled();
  assert.equal(one.texts().at(-1), "still");
  assert.deepEqual(two.texts(), []);
});

Deno.test("StreamHub has nobody join a stream that is dead, and ends it for those who have it", async () => {
  const { hub, streams, windowOf, later } = scene();
  const [one, late, log, lively] = [windowOf(), windowOf(), windowOf(), windowOf()];
  const silenceMs = 25_000;
  log.open("log", "first");
  one.open("fleet", "all", 1, silenceMs);
  lively.open("other log", "first");
  await settled();
  for (const { write } of streams) write(envelope("begun"));
  await settled();
  later(12_000);
  streams[2]!.write(envelope("a line"));
  await settled();
  late.open("fleet", "all", 1, silenceMs);
  later(13_000);
  one.say({ kind: "close", id: 1 });
  one.open("fleet", "all", 2, silenceMs);
  await settled();
  assert.deepEqual(streams.map(({ signal }) => signal.aborted), [true, true, false, false]);
  assert.equal(late.got.at(-1)?.kind, "failed");
  assert.equal(log.got.at(-1)?.kind, "failed", "it says little by itself, and nothing since");
  assert.equal(lively.got.at(-1)?.kind, "bytes");
  late.open("fleet", "all", 2, silenceMs);
  streams[3]!.write(envelope("again"));
  await settled();
  assert.deepEqual([one.texts().at(-1), late.texts().at(-1)], ["again", "again"]);
  assert.equal(hub.size, 2);
});
