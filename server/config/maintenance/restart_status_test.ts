/** Who may ask `GET /restart_status`, over real connections. */
import assert from "node:assert/strict";
import { networkInterfaces } from "node:os";
import { AddressList } from "../../../shared/rpc/server/address_list.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { createRoutes } from "../../serving/web/routes.ts";

async function withServer(
  options: { hostname: string; balancers?: AddressList },
  test: (port: number) => Promise<void>,
): Promise<void> {
  const server = await RpcServer.start({
    router: new RpcRouter(),
    interceptors: [],
    http: createRoutes({ restartAllowed: () => Promise.resolve({ allowed: true, reason: "" }) }),
    listen: { hostname: options.hostname, port: 0 },
    balancers: options.balancers,
  });
  try {
    await test(server.address.port);
  } finally {
    await server.close({ graceMs: 100 });
  }
}

/** One HTTP/1.1 request after `before`; the answer's status. */
async function ask(hostname: string, port: number, before = ""): Promise<number> {
  using connection = await Deno.connect({ hostname, port });
  const request = `${before}GET /restart_status HTTP/1.1\r\nhost: m\r\nconnection: close\r\n\r\n`;
  await connection.write(new TextEncoder().encode(request));
  const answer = await new Response(connection.readable).text();
  return Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
}

const ownAddresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  .filter(({ internal, family }) => !internal && family === "IPv4").map(({ address }) => address);

Deno.test("GET /restart_status answers callers on loopback", () =>
  withServer({ hostname: "127.0.0.1" }, async (port) => {
    assert.equal(await ask("127.0.0.1", port), 200);
  }));

Deno.test({
  name: "GET /restart_status answers callers by another address of this host",
  ignore: ownAddresses.length === 0,
  fn: () =>
    withServer({ hostname: "0.0.0.0" }, async (port) => {
      for (const address of ownAddresses) assert.equal(await ask(address, port), 200, address);
    }),
});

Deno.test("GET /restart_status is forbidden to whom a proxy on this host speaks for", () =>
  withServer({ hostname: "127.0.0.1", balancers: new AddressList(["127.0.0.1"]) }, async (port) => {
    for (const address of ["203.0.113.7", "127.0.0.1", ...ownAddresses]) {
      const header = `PROXY TCP4 ${address} 127.0.0.1 50000 ${port}\r\n`;
      assert.equal(await ask("127.0.0.1", port, header), 403, address);
    }
  }));

Deno.test("GET /restart_status takes nobody's word for a proxy that was not announced", () =>
  withServer({ hostname: "127.0.0.1" }, async (port) => {
    const header = `PROXY TCP4 127.0.0.1 127.0.0.1 50000 ${port}\r\n`;
    assert.notEqual(await ask("127.0.0.1", port, header), 200);
  }));
