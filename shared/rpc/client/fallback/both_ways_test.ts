import assert from "node:assert/strict";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { ShellService } from "../../../gen/viam/service/shell/v1/shell_pb.ts";
import { RpcServer, type RpcServerOptions } from "../../server/server.ts";
import { testRouter } from "../../testing.ts";
import { createWebTransport } from "./web_transport.ts";
import { withBothWays } from "./both_ways.ts";

async function file(name: string): Promise<string> {
  return await Deno.readTextFile(new URL(`../../testdata/${name}`, import.meta.url));
}

async function withTransport(
  options: Partial<RpcServerOptions>,
  run: (transport: Transport) => Promise<void>,
): Promise<void> {
  const listen = { hostname: "127.0.0.1", port: 0 };
  const server = await RpcServer.start({ router: testRouter(), listen, ...options });
  const scheme = options.tls ? "https" : "http";
  const shared = {
    baseUrl: `${scheme}://localhost:${server.address.port}`,
    interceptors: [],
    ca: await file("ca.pem"),
  };
  const transport = withBothWays(createWebTransport(shared), shared);
  try {
    await run(transport);
  } finally {
    transport.close();
    await server.close({ graceMs: 100 });
  }
}

/** Says the next word when the one before has come back. */
async function talk(transport: Transport, words: readonly string[]): Promise<string[]> {
  const heard: string[] = [];
  let next = Promise.withResolvers<void>();
  next.resolve();
  async function* said() {
    for (const word of words) {
      await next.promise;
      next = Promise.withResolvers();
      yield { dataIn: word };
    }
  }
  for await (const { dataOut } of createClient(ShellService, transport).shell(said())) {
    heard.push(dataOut);
    next.resolve();
  }
  return heard;
}

for (const secure of [false, true]) {
  Deno.test(`withBothWays() carries a conversation ${secure ? "over TLS" : "in clear"}`, async () => {
    const tls = secure ? { cert: await file("cert.pem"), key: await file("key.pem") } : undefined;
    await withTransport({ tls }, async (transport) => {
      const words = ["one", "two", "three"];
      assert.deepEqual(await talk(transport, words), words);
      const both = await Promise.all([talk(transport, words), talk(transport, ["alone"])]);
      assert.deepEqual(both, [words, ["alone"]]);
      await assert.rejects(talk(transport, ["one", "fail"]), /told to/);
    });
  });
}

Deno.test("withBothWays() says that nobody is there", async () => {
  let gone: Transport | undefined;
  await withTransport({}, (transport) => {
    gone = transport;
    return Promise.resolve();
  });
  await assert.rejects(talk(gone!, ["anybody"]), (error) => error instanceof ConnectError);
});

Deno.test("withBothWays() trusts only the authority it is given", async () => {
  const tls = { cert: await file("cert.pem"), key: await file("key.pem") };
  const server = await RpcServer.start({
    router: testRouter(),
    listen: { hostname: "127.0.0.1", port: 0 },
    tls,
  });
  const shared = { baseUrl: `https://localhost:${server.address.port}`, interceptors: [] };
  const transport = withBothWays(createWebTransport(shared), shared);
  try {
    await assert.rejects(talk(transport, ["one"]), /certificate/);
  } finally {
    transport.close();
    await server.close({ graceMs: 100 });
  }
});
