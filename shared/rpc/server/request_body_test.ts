import { Code, ConnectError } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import { clearImmediate, setImmediate } from "node:timers";
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { inflater } from "../client/grpc_compression.ts";
import { framed } from "../client/grpc_frames.ts";
import { OPEN_MESSAGE_BYTES } from "../client/limits.ts";
import { RequestBody } from "./request_body.ts";
import { RequestBudgets } from "./request_budget.ts";
import { rejection } from "../testing.ts";

const MIB = 1024 * 1024;
const PEER = { address: "203.0.113.7", local: false };

class Flow {
  paused = false;
  pause(): void {
    this.paused = true;
  }
  resume(): void {
    this.paused = false;
  }
}

function setUp({ takesOne = true, encoding = "identity", budgets = new RequestBudgets() } = {}) {
  const flow = new Flow();
  const accounts = budgets.accounts(PEER);
  const body = new RequestBody({ takesOne, accounts, inflate: inflater(encoding), flow });
  return { body, flow, budgets };
}

/** What the reader of a call with one message gets. */
async function failure(body: RequestBody): Promise<ConnectError> {
  await new Promise<void>((resolve) => body.whenComplete(resolve));
  return await rejection((async () => await body.one())());
}

/** A message that says it is compressed. */
function compressed(bytes: Uint8Array): Uint8Array {
  const result = framed(gzipSync(bytes));
  result[0] = 1;
  return result;
}

Deno.test("nothing is cut before the call is let in, then all that came early counts", async () => {
  const { body, flow, budgets } = setUp({ takesOne: false });
  // A length that no message may have: nobody looks at it yet.
  body.data(framed(Uint8Array.of(1, 2)));
  assert.equal(flow.paused, true);
  assert.deepEqual(budgets.held, { open: 7, letIn: 0 });
  body.letIn();
  assert.equal(flow.paused, false);
  assert.equal(budgets.held.open, 0);
  body.data(framed(Uint8Array.of(3)));
  body.complete();
  assert.deepEqual(await Array.fromAsync(body.messages()), [
    Buffer.of(1, 2),
    Buffer.of(3),
  ]);
  body.end();
  assert.deepEqual(budgets.held, { open: 0, letIn: 0 });
});

Deno.test("an undecided call ends with what its connection may hold, and keeps nothing then", async () => {
  const { body, budgets } = setUp();
  const chunk = new Uint8Array(16_384);
  for (let n = 0; n < 1_000; n++) {
    body.data(chunk);
    assert.ok(budgets.held.open <= MIB);
  }
  const error = await failure(body);
  assert.equal(error.code, Code.ResourceExhausted);
  assert.match(error.message, /on this connection/);
  body.end();
  assert.equal(budgets.held.open, 0);
  body.data(chunk);
  assert.equal(budgets.held.open, 0);
});

Deno.test("a call that is not let in gives back what came, and takes no more", async () => {
  const { body, budgets } = setUp();
  body.data(new Uint8Array(1_000));
  body.end();
  body.data(new Uint8Array(1_000));
  body.complete();
  assert.deepEqual(budgets.held, { open: 0, letIn: 0 });
  assert.equal((await failure(body)).code, Code.Canceled);
});

Deno.test("a unary call fails at its second message, not at its end", async () => {
  const { body } = setUp();
  body.letIn();
  const answer = failure(body);
  body.data(framed(Uint8Array.of(1)));
  body.data(framed(Uint8Array.of(2)));
  assert.match((await answer).message, /at least 2 messages/);
});

Deno.test("a limit counts messages as they come, and inflated", async () => {
  for (const message of [framed(new Uint8Array(OPEN_MESSAGE_BYTES + 1))]) {
    const { body, budgets } = setUp();
    body.letIn(OPEN_MESSAGE_BYTES);
    body.data(message);
    const error = await failure(body);
    assert.deepEqual([error.code, /larger than 65536/.test(error.message)], [8, true]);
    assert.ok(budgets.held.open <= message.length);
  }
  const { body, budgets } = setUp({ encoding: "gzip" });
  body.letIn(OPEN_MESSAGE_BYTES);
  body.data(compressed(new Uint8Array(32 * MIB)));
  body.complete();
  const error = await failure(body);
  assert.equal(error.code, Code.ResourceExhausted);
  assert.match(error.message, /larger than 65536 bytes/);
  assert.ok(budgets.held.open < 200_000, "what was inflated before it was too much");
  body.end();
  assert.deepEqual(budgets.held, { open: 0, letIn: 0 });
});

Deno.test("messages are inflated when they are read, and others have their turn meanwhile", async () => {
  const { body, budgets } = setUp({ encoding: "gzip", takesOne: false });
  body.letIn();
  const plain = Buffer.alloc(4 * MIB, "abc");
  const message = compressed(plain);
  body.data(message);
  body.data(message);
  body.complete();
  assert.ok(budgets.held.letIn < MIB, "as they came");
  let turns = 0;
  let counter = setImmediate(function count() {
    turns++;
    counter = setImmediate(count);
  });
  let read = 0;
  for await (const inflated of body.messages()) {
    assert.ok(Buffer.compare(inflated, plain) === 0);
    assert.ok(budgets.held.letIn < 5 * MIB, "one at a time");
    read++;
  }
  clearImmediate(counter);
  assert.equal(read, 2);
  assert.ok(turns > 100, `others had ${turns} turns`);
  assert.equal(budgets.held.letIn, 0);
});

Deno.test("what is inflated counts for the connection", async () => {
  const letIn = { perConnection: MIB, perAddress: 100 * MIB, total: 100 * MIB };
  const { body, budgets } = setUp({ encoding: "gzip", budgets: new RequestBudgets({ letIn }) });
  body.letIn();
  body.data(compressed(new Uint8Array(8 * MIB)));
  body.complete();
  assert.equal((await failure(body)).code, Code.ResourceExhausted);
  assert.ok(budgets.held.letIn <= MIB);
});

Deno.test("a stream is held back by bytes too, and empty messages cost something", async () => {
  const large = setUp({ takesOne: false });
  large.body.letIn();
  large.body.data(framed(new Uint8Array(300_000)));
  assert.equal(large.flow.paused, true);
  const reader = large.body.messages();
  await reader.next();
  assert.equal(large.flow.paused, false);
  const { body, budgets } = setUp({ takesOne: false });
  body.letIn(OPEN_MESSAGE_BYTES);
  for (let n = 0; n < 20; n++) body.data(new Uint8Array(16_000));
  assert.ok(budgets.held.open <= MIB);
  const error = await rejection(Array.fromAsync(body.messages()));
  assert.equal(error.code, Code.ResourceExhausted);
});

Deno.test("a request that was begun and doesn't come on ends", async () => {
  const pace = { openMs: 10, graceMs: 100, bytesPerMs: 1 };
  const undecided = setUp().body;
  const open = setUp().body;
  open.letIn(OPEN_MESSAGE_BYTES);
  const slow = setUp().body;
  slow.letIn();
  const idle = setUp({ takesOne: false }).body;
  idle.letIn();
  for (const body of [undecided, open, slow, idle]) body.expire(1_000, pace);
  slow.data(framed(new Uint8Array(60)).subarray(0, 50));
  for (const body of [undecided, open, slow, idle]) body.expire(1_011, pace);
  for (const body of [undecided, open]) {
    assert.equal((await failure(body)).code, Code.DeadlineExceeded);
  }
  slow.expire(1_150, pace);
  slow.expire(1_151, pace);
  assert.equal((await failure(slow)).code, Code.DeadlineExceeded);
  // A stream may be silent between messages, not within one.
  idle.expire(9_000, pace);
  idle.data(framed(Uint8Array.of(1, 2)));
  idle.data(framed(Uint8Array.of(3, 4)).subarray(0, 6));
  idle.expire(9_001, pace);
  const messages = idle.messages();
  assert.deepEqual((await messages.next()).value, Buffer.of(1, 2));
  idle.expire(9_103, pace);
  idle.expire(9_200, pace);
  assert.equal((await rejection(messages.next())).code, Code.DeadlineExceeded);
});

Deno.test("RequestBudgets bound an address and all together, callers on this host only together", () => {
  const open = { perConnection: 10, perAddress: 15, total: 30 };
  const budgets = new RequestBudgets({ open });
  const take = (address: string, local: boolean, bytes: number) => {
    const accounts = budgets.accounts({ address, local });
    accounts.open.take(bytes);
    return accounts;
  };
  const first = take("2001:db8::1", false, 10);
  assert.throws(() => take("2001:db8::2", false, 6), /from this address/);
  assert.throws(() => take("::1", true, 11), /on this connection/);
  take("::1", true, 10);
  take("::1", true, 10);
  assert.throws(() => take("::1", true, 1), /wait here/);
  first.close();
  first.open.give(10);
  assert.equal(budgets.held.open, 20);
  take("2001:db8::2", false, 10);
});

Deno.test("a fault in the compression is an error of the call", async () => {
  const { body } = setUp({ encoding: "gzip" });
  body.letIn();
  const broken = framed(new Uint8Array(50));
  broken[0] = 1;
  body.data(broken);
  body.complete();
  const error = await failure(body);
  assert.ok(error instanceof ConnectError);
  assert.match(error.message, /not valid gzip/);
});
