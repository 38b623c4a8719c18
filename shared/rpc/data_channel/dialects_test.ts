/** What callers of all kinds send, and what they must not. */
import { Code } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { waitFor } from "../../base/time/wait_for.ts";
import { RawCaller, serveEcho } from "./testing.ts";
import { ECHO, echo, echoed, UPLOAD, upload, uploaded } from "./messages_testing.ts";

/** Sends a message in pieces of `size`; `eos` says what each piece declares about the end. */
function inPieces(
  caller: RawCaller,
  id: number,
  message: Uint8Array,
  { size, eos }: { size: number; eos: (last: boolean) => boolean },
): void {
  for (let at = 0; at < message.length || at === 0; at += size) {
    const last = at + size >= message.length;
    caller.message(id, message.subarray(at, at + size), { eom: last, eos: eos(last) });
  }
}

const halfClose = (caller: RawCaller, id: number, packetMessage: { eom: boolean } | undefined) =>
  caller.frame(id, {
    case: "message",
    value: { hasMessage: false, eos: true, ...(packetMessage && { packetMessage }) },
  });

Deno.test("serveDataChannel() understands how each client ends its requests", async (t) => {
  const { client } = serveEcho();
  const caller = new RawCaller(client);
  let id = 0;
  const long = "x".repeat(100);
  const unary: Record<string, (id: number) => void> = {
    "one frame without the end of the stream (TypeScript, Rust)": (id) =>
      caller.message(id, echo(long)),
    "one frame with the end (Go)": (id) => caller.message(id, echo(long), { eos: true }),
    "pieces without the end (TypeScript)": (id) =>
      inPieces(caller, id, echo(long), { size: 7, eos: () => false }),
    "pieces with the end on every one (Go)": (id) =>
      inPieces(caller, id, echo(long), { size: 7, eos: () => true }),
    "pieces with the end on the last": (id) =>
      inPieces(caller, id, echo(long), { size: 7, eos: (last) => last }),
    "an end of its own": (id) => {
      caller.message(id, echo(long));
      halfClose(caller, id, { eom: true });
    },
    "an empty last piece": (id) => {
      caller.message(id, echo(long), { eom: false });
      caller.message(id, new Uint8Array(0));
    },
  };
  for (const [name, send] of Object.entries(unary)) {
    await t.step(name, async () => {
      caller.headers(++id, ECHO);
      send(id);
      assert.deepEqual(echoed(await caller.ended(id)), [long]);
    });
  }
  const streams: Record<string, (id: number) => void> = {
    "the end with the last message": (id) => {
      caller.message(id, upload(10));
      caller.message(id, upload(20), { eos: true });
    },
    "an end of its own (Go)": (id) => {
      caller.message(id, upload(10));
      caller.message(id, upload(20));
      halfClose(caller, id, undefined);
    },
    "an end of its own with an empty packet (TypeScript)": (id) => {
      caller.message(id, upload(30));
      halfClose(caller, id, { eom: true });
    },
    "pieces with the end on every one of the last message": (id) => {
      inPieces(caller, id, upload(15), { size: 4, eos: () => false });
      inPieces(caller, id, upload(15), { size: 4, eos: () => true });
    },
    "messages after the end, which count no more": (id) => {
      caller.message(id, upload(30), { eos: true });
      caller.message(id, upload(30));
    },
  };
  for (const [name, send] of Object.entries(streams)) {
    await t.step(name, async () => {
      caller.headers(++id, UPLOAD);
      send(id);
      assert.deepEqual(uploaded(await caller.ended(id)), ["30"]);
    });
  }
  await t.step("an empty message", async () => {
    caller.headers(++id, ECHO);
    caller.message(id, new Uint8Array(0));
    assert.deepEqual(echoed(await caller.ended(id)), [""]);
  });
  await t.step("no message at all", async () => {
    caller.headers(++id, UPLOAD);
    halfClose(caller, id, { eom: true });
    assert.deepEqual(uploaded(await caller.ended(id)), ["0"]);
  });
});

Deno.test("serveDataChannel() ends a call that breaks the rules, and only that one", async (t) => {
  const { client, served, seen } = serveEcho();
  const caller = new RawCaller(client);
  caller.headers(1, ECHO);
  caller.message(1, echo("wait"));
  let id = 1;
  const cases: [string, Code, string | RegExp, (id: number) => void][] = [
    ["a message before the headers", Code.InvalidArgument, "headers not yet received", (id) => {
      caller.message(id, echo("a"));
      caller.message(id, echo("b"));
    }],
    ["second headers", Code.InvalidArgument, "headers already received", (id) => {
      caller.headers(id, ECHO);
      caller.headers(id, ECHO);
      caller.message(id, echo("a"));
    }],
    ["an unknown method", Code.Unimplemented, "unknown method /a.B/C", (id) => {
      caller.headers(id, "/a.B/C");
      caller.message(id, echo("a"));
    }],
    ["no method", Code.Unimplemented, "unknown method ", (id) => caller.headers(id, "")],
    ["a unary call without a request", Code.InvalidArgument, /without a request/, (id) => {
      caller.headers(id, ECHO);
      halfClose(caller, id, { eom: true });
    }],
    ["a message that isn't there", Code.InvalidArgument, /has none/, (id) => {
      caller.headers(id, ECHO);
      caller.frame(id, { case: "message", value: { hasMessage: true } });
    }],
    ["an end within a message", Code.InvalidArgument, /within a message/, (id) => {
      caller.headers(id, UPLOAD);
      caller.message(id, upload(10), { eom: false });
      halfClose(caller, id, { eom: true });
    }],
    ["a request that is no message", Code.InvalidArgument, /is not a valid/, (id) => {
      caller.headers(id, ECHO);
      caller.message(id, Uint8Array.of(255, 255));
    }],
    [
      "a metadata key with a space",
      Code.InvalidArgument,
      /metadata key "a b"/,
      (id) => caller.headers(id, ECHO, { metadata: { md: { "a b": { values: ["c"] } } } }),
    ],
    [
      "a metadata value with a line end",
      Code.InvalidArgument,
      /value of the metadata key a/,
      (id) => caller.headers(id, ECHO, { metadata: { md: { a: { values: ["c\n"] } } } }),
    ],
    ["a limit that has passed", Code.DeadlineExceeded, /took longer/, (id) => {
      caller.headers(id, ECHO, { timeout: { seconds: -1n, nanos: 0 } });
    }],
    ["a reset", Code.Canceled, "the caller cancelled the call", (id) => {
      caller.headers(id, ECHO);
      caller.frame(id, { case: "rstStream", value: true });
    }],
  ];
  for (const [name, code, text, send] of cases) {
    await t.step(name, async () => {
      send(++id);
      const { order, status } = await caller.ended(id);
      assert.deepEqual(order, ["headers", "trailers"]);
      assert.equal(status?.code, code);
      if (typeof text === "string") assert.equal(status.message, text);
      else assert.match(status.message, text);
    });
  }
  await t.step("leaves the other call", async () => {
    assert.deepEqual([served.activeCalls, seen.begun, seen.aborted], [1, ["wait"], []]);
    // All frames so far have been answered when a call after them is.
    caller.headers(++id, ECHO);
    caller.message(id, echo("last"));
    assert.deepEqual(echoed(await caller.ended(id)), ["last"]);
    for (const asked of caller.ids) {
      const { order } = caller.answer(asked);
      assert.equal(order.filter((part) => part === "trailers").length, 1, `call ${asked}`);
    }
  });
});

Deno.test("serveDataChannel() passes over frames of no call, and of calls that have ended", async () => {
  const { client, served } = serveEcho();
  const caller = new RawCaller(client);
  caller.headers(1, "/a.B/C");
  caller.message(1, echo("late"));
  caller.frame(1, { case: "rstStream", value: true });
  caller.frame(2, { case: "rstStream", value: true });
  caller.frame(3, { case: undefined });
  caller.headers(4, ECHO);
  caller.frame(4, { case: "rstStream", value: false });
  caller.frame(4, { case: undefined });
  client.send(Uint8Array.of(1, 2, 3));
  client.send(new Uint8Array(0));
  caller.message(4, echo("fine"));
  assert.deepEqual(echoed(await caller.ended(4)), ["fine"]);
  assert.deepEqual(caller.ids.sort(), [1, 4]);
  assert.deepEqual(caller.answer(1).order, ["headers", "trailers"]);
  assert.equal(served.activeCalls, 0);
});

Deno.test("serveDataChannel() takes an id again once its call has ended", async () => {
  const { client } = serveEcho();
  const caller = new RawCaller(client);
  for (const id of [0, 0, 7, 7]) {
    const before = caller.answer(id).messages.length;
    caller.headers(id, ECHO);
    caller.message(id, echo("again"));
    const more = () => caller.answer(id).messages.length > before;
    await waitFor(more, { deadlineMs: 60_000, what: "an answer" });
  }
  assert.deepEqual(echoed(caller.answer(0)), ["again", "again"]);
});
