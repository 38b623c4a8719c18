/** What callers without a token can make a server hold over HTTP/1.1. */
import { Code, ConnectError } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { requireAuthentication } from "../cloud/auth/require_auth.ts";
import type { Interceptor } from "./server/interceptor.ts";
import { RequestBudgets } from "./server/request_budget.ts";
import { GET_READINGS, post, withServer } from "./testing.ts";

const MIB = 1024 * 1024;
const HEALTH = "grpc.health.v1.Health/Check";
/** Whatever has no answer by then gets none. */
const DEADLINE_MS = 60_000;

function signIn(): Interceptor {
  return requireAuthentication({
    verify: () => {
      throw new ConnectError("the token is not valid", Code.Unauthenticated);
    },
  });
}

/** Sends a part of a request, and keeps the connection open; `answer` is what has come by its end. */
function half(
  url: string,
  method: string,
  type: string,
): { socket: Socket; answer: Promise<string> } {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  let text = "";
  socket.on("data", (bytes) => text += String(bytes));
  socket.on("error", () => undefined);
  const late = setTimeout(() => socket.destroy(), DEADLINE_MS);
  const answer = new Promise<string>((resolve) => {
    socket.on("data", () => /\r\n\r\n/.test(text) && resolve(text));
    socket.once("close", () => {
      clearTimeout(late);
      resolve(text);
    });
  });
  socket.write(
    `POST /${method} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n` +
      `content-length: ${31 * MIB}\r\n\r\n{"name":"`,
  );
  return { socket, answer };
}

Deno.test("a call without a token is answered at its headers, whatever of its body comes", async () => {
  const ended: (Code | undefined)[] = [];
  const after: Interceptor = { after: (_call, { code }) => void ended.push(code) };
  await withServer({ interceptors: [after, signIn()] }, async (url) => {
    for (const type of ["application/json", "application/grpc-web+proto"]) {
      const { socket, answer } = half(url, GET_READINGS, type);
      assert.match(await answer, type.endsWith("json") ? /^HTTP\/1.1 401/ : /^HTTP\/1.1 200/);
      socket.destroy();
    }
    const answer = await post(url, GET_READINGS, "{}");
    assert.equal(answer.status, 401);
    assert.match(await answer.text(), /unauthenticated.*access token/);
    assert.deepEqual(ended, [16, 16, 16], "each call ends once");
  });
});

Deno.test("calls that need no token take short messages", async () => {
  const budgets = new RequestBudgets();
  await withServer({ budgets, interceptors: [signIn()] }, async (url) => {
    const json = (bytes: number) => JSON.stringify({ service: "x".repeat(bytes) });
    assert.equal((await post(url, HEALTH, "{}")).status, 200);
    assert.equal((await post(url, HEALTH, json(60_000))).status, 404, "unknown, but read");
    const long = await post(url, HEALTH, json(70_000));
    assert.equal(long.status, 429);
    assert.match(await long.text(), /65536/);
    const { socket, answer } = half(url, HEALTH, "application/json");
    assert.match(await answer, /^HTTP\/1.1 429/, "the length says enough");
    socket.destroy();
  });
});

Deno.test("a body that doesn't come on ends its call, and gives back what it held", async () => {
  const budgets = new RequestBudgets();
  const pace = { openMs: 50, graceMs: 50, bytesPerMs: 1 };
  await withServer({ budgets, pace }, async (url) => {
    const { socket, answer } = half(url, GET_READINGS, "application/json");
    assert.match(await answer, /deadline_exceeded/);
    socket.destroy();
  });
  assert.deepEqual(budgets.held, { open: 0, letIn: 0 });
});

Deno.test("bodies that never end hold what may wait", async () => {
  const letIn = { perConnection: MIB, perAddress: 4 * MIB, total: 2 * MIB };
  const budgets = new RequestBudgets({ letIn });
  await withServer({ budgets }, async (url) => {
    const { socket, answer } = half(url, GET_READINGS, "application/json");
    socket.write("x".repeat(2 * MIB));
    assert.match(await answer, /resource_exhausted/);
    assert.ok(budgets.held.letIn <= MIB);
    socket.destroy();
  });
});

Deno.test("a request that cannot be read ends its call, too", async () => {
  const ended: (Code | undefined)[] = [];
  const after: Interceptor = { before() {}, after: (_call, { code }) => void ended.push(code) };
  await withServer({ interceptors: [after] }, async (url) => {
    await (await post(url, GET_READINGS, "{")).body?.cancel();
    await (await post(url, GET_READINGS, "{}", { "content-type": "text/html" })).body?.cancel();
    assert.deepEqual(ended, [Code.InvalidArgument, Code.InvalidArgument]);
  });
});
