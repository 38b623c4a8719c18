/** What callers of data channels can make a server hold. */
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import type { Interceptor } from "../server/interceptor.ts";
import { OPEN_MESSAGE_BYTES } from "../client/limits.ts";
import { RequestBudgets } from "../server/request_budget.ts";
import { HeldBytes } from "./held_bytes.ts";
import { MessageAssembler } from "./frames.ts";
import { ECHO, UPLOAD } from "./messages_testing.ts";
import { RawCaller, serveEcho } from "./testing.ts";

Deno.test("channels share what all requests may hold, and give it back", () => {
  const letIn = { perConnection: 100, perAddress: 150, total: 1_000 };
  const budgets = new RequestBudgets({ letIn });
  const peer = { address: "203.0.113.7", local: false };
  const [first, second] = [budgets.accounts(peer), budgets.accounts(peer)];
  const [a, b] = [new HeldBytes(1_000, first.letIn), new HeldBytes(1_000, second.letIn)];
  a.take(100);
  assert.throws(() => a.take(1), { code: Code.ResourceExhausted });
  assert.throws(() => b.take(51), /from this address/);
  b.take(50);
  a.give(100);
  assert.equal(budgets.held.letIn, 50);
  b.take(50);
});

Deno.test("a limit of messages counts their pieces together, and single ones", () => {
  const assembler = new MessageAssembler(new HeldBytes());
  const piece = (bytes: number, eom: boolean) => ({ data: new Uint8Array(bytes), eom });
  assembler.push(piece(OPEN_MESSAGE_BYTES, false), OPEN_MESSAGE_BYTES);
  const more = () => assembler.push(piece(1, true), OPEN_MESSAGE_BYTES);
  assert.throws(more, /larger than 65536 bytes/);
  assembler.clear();
  const single = () => assembler.push(piece(OPEN_MESSAGE_BYTES + 1, true), OPEN_MESSAGE_BYTES);
  assert.throws(single, /larger than 65536 bytes/);
});

Deno.test("an interceptor decides at the headers, and may limit messages", async () => {
  const limited: Interceptor = {
    before(call) {
      if (call.path === ECHO) call.limitMessages?.(1_000);
      else throw new ConnectError("who are you?", Code.Unauthenticated);
    },
  };
  const budgets = new RequestBudgets();
  const { client } = serveEcho({ interceptors: [limited], budgets });
  const caller = new RawCaller(client);
  caller.headers(1, UPLOAD);
  assert.equal((await caller.ended(1)).status?.code, Code.Unauthenticated, "without a message");
  caller.message(1, new Uint8Array(60_000), { eom: false });
  caller.headers(2, ECHO);
  caller.message(2, new Uint8Array(600), { eom: false });
  caller.message(2, new Uint8Array(600), { eom: false });
  assert.equal((await caller.ended(2)).status?.code, Code.ResourceExhausted);
  assert.equal(budgets.held.letIn, 0);
});
