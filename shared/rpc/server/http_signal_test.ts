import assert from "node:assert/strict";
import { connect } from "node:net";
import { withServer } from "../testing.ts";

Deno.test("RpcServer aborts the signal of an HTTP request when its caller left", async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const http = (_request: Request, _peer: unknown, signal: AbortSignal) => {
    asked.resolve(signal);
    return new Promise<Response>((resolve) => {
      signal.addEventListener("abort", () => resolve(new Response("too late")));
    });
  };
  await withServer({ http }, async (_url, server) => {
    const { port } = server.address;
    const socket = connect({ host: "127.0.0.1", port }, () => {
      socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    });
    const signal = await asked.promise;
    assert.equal(signal.aborted, false);
    const left = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
    });
    socket.destroy();
    await left;
  });
});

Deno.test("RpcServer leaves the signal of an HTTP request alone once it was answered", async () => {
  const signals: AbortSignal[] = [];
  const http = (_request: Request, _peer: unknown, signal: AbortSignal) => {
    signals.push(signal);
    return new Response("all");
  };
  await withServer({ http }, async (url) => {
    for (let times = 0; times < 3; times++) assert.equal(await (await fetch(url)).text(), "all");
    assert.deepEqual(signals.map(({ aborted }) => aborted), [false, false, false]);
  });
});
