import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { freePort } from "../../../test_tools/free_port.ts";
import { RpcRouter } from "../../server/router.ts";
import { RpcServer } from "../../server/server.ts";
import { hasReliableHttp2 } from "./reliable_http2.ts";
import { createWebTransport } from "./web_transport.ts";

/** V8's garbage collector, which is not reachable otherwise. */
function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

Deno.test("createWebTransport() ends an idle stream on abort, also after memory was collected", async () => {
  const collect = garbageCollector();
  const server = await RpcServer.start({
    router: new RpcRouter(),
    listen: { hostname: "127.0.0.1", port: 0 },
  });
  const transport = createWebTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  const stop = new AbortController();
  const watch = async () => {
    for await (const _ of createClient(Health, transport).watch({}, { signal: stop.signal })) {
      // The stream is idle from here on. The collector runs in turns of its own.
      for (const ms of [0, 50, 100]) setTimeout(collect, ms);
      setTimeout(() => stop.abort(new Error("enough")), 150);
    }
  };
  let late: ReturnType<typeof setTimeout> | undefined;
  const tooLate = new Promise((resolve) => late = setTimeout(resolve, 60_000));
  await assert.rejects(() => Promise.race([watch(), tooLate]), /enough/);
  clearTimeout(late);
  transport.close();
  await server.close({ graceMs: 100 });
});

Deno.test("createWebTransport() says UNAVAILABLE and why where nothing can be reached", async () => {
  const read = (name: string) =>
    Deno.readTextFile(new URL(`../../testdata/${name}`, import.meta.url));
  await using server = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ...{ cert: await read("cert.pem"), key: await read("key.pem") },
  }, () => new Response());
  const { port } = server.addr;
  for (
    const [baseUrl, why] of [
      [`http://127.0.0.1:${freePort()}`, /^tcp connect error: /],
      [`https://localhost:${port}`, /^invalid peer certificate: /],
    ] as const
  ) {
    const transport = createWebTransport({ baseUrl });
    const error = await createClient(Health, transport).check({}).then(
      () => assert.fail("it was reached"),
      ConnectError.from,
    );
    assert.equal(error.code, Code.Unavailable);
    assert.match(error.rawMessage, why);
    transport.close();
  }
});

Deno.test("hasReliableHttp2() is true from Deno 2.9 on", () => {
  const versions = ["2.7.11", "2.8.3", "2.9.0", "2.9.6", "2.10.0", "3.0.0"];
  assert.deepEqual(versions.map(hasReliableHttp2), [false, false, true, true, true, true]);
});
