import { Code, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { connect } from "node:net";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import { PortInUseError } from "./errors.ts";
import { createGrpcTransport } from "./grpc_transport.ts";
import { RpcServer } from "./server.ts";
import { rejection, testRouter, withServer } from "./testing.ts";

/** Opens a raw connection, sends nothing or some bytes, and waits until the server ends it. */
function rawConnection(port: number, bytes?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect({ host: "127.0.0.1", port }, () => bytes && socket.write(bytes));
    socket.on("data", (chunk) => received += String(chunk));
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
  });
}

Deno.test("RpcServer.start() says which port is taken", async () => {
  await withServer({}, async (_url, server) => {
    const again = RpcServer.start({
      router: testRouter(),
      listen: { hostname: "127.0.0.1", port: server.address.port },
    });
    await assert.rejects(again, (error: Error) => {
      assert.ok(error instanceof PortInUseError);
      assert.match(error.message, new RegExp(`127.0.0.1:${server.address.port}.*another program`));
      return true;
    });
  });
});

Deno.test("RpcServer listens on a unix socket", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/rpc.sock`;
  try {
    await withServer({ listen: { path } }, async () => {
      const transport = createGrpcTransport({ baseUrl: `unix:${path}` });
      const { readings } = await createClient(SensorService, transport).getReadings({
        name: "peer",
      });
      assert.equal(JSON.parse(String(readings["peer"]?.kind.value)).transport, "unix");
      transport.close();
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("RpcServer ends a connection that sends nothing within the handshake time", async () => {
  await withServer({ limits: { handshakeMs: 50 } }, async (_url, server) => {
    assert.equal(await rawConnection(server.address.port), "");
    assert.equal(await rawConnection(server.address.port, "PR"), "");
  });
});

Deno.test("RpcServer turns connections away over its limit, and says so", async () => {
  const refused: string[] = [];
  const onRefused = (_address: string, reason: string) => refused.push(reason);
  await withServer({ limits: { total: 1 }, onRefused }, async (_url, server) => {
    const first = connect({ host: "127.0.0.1", port: server.address.port });
    await new Promise((resolve) => first.once("connect", resolve));
    assert.equal(await rawConnection(server.address.port, "GET / HTTP/1.1\r\n\r\n"), "");
    first.destroy();
    assert.deepEqual(refused, ["1 connections are open"]);
  });
});

Deno.test("RpcServer takes the caller's address from a PROXY header when told to", async () => {
  const http = (_request: Request, peer: { address: string; local: boolean }) =>
    new Response(`${peer.address} ${peer.local}`);
  await withServer({ proxyProtocol: true, http }, async (_url, server) => {
    const request = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    const header = "PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n";
    const answer = await rawConnection(server.address.port, header + request);
    assert.match(answer, /203\.0\.113\.7 false$/);
    assert.equal(await rawConnection(server.address.port, request), "", "without a header");
  });
});

Deno.test("RpcServer speaks TLS on the same port for gRPC and HTTP", async () => {
  const ca = await Deno.readTextFile(new URL("./testdata/ca.pem", import.meta.url));
  const tls = {
    cert: await Deno.readTextFile(new URL("./testdata/cert.pem", import.meta.url)),
    key: await Deno.readTextFile(new URL("./testdata/key.pem", import.meta.url)),
  };
  await withServer({ tls, http: () => new Response("hello") }, async (_url, server) => {
    const baseUrl = `https://localhost:${server.address.port}`;
    const transport = createGrpcTransport({ baseUrl, ca });
    const { readings } = await createClient(SensorService, transport).getReadings({ name: "s" });
    assert.equal(readings["name"]?.kind.value, "s");
    transport.close();
    const client = Deno.createHttpClient({ caCerts: [ca] });
    assert.equal(await (await fetch(baseUrl, { client })).text(), "hello");
    client.close();
  });
});

Deno.test("createGrpcTransport() reports an address where nothing listens as UNAVAILABLE", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
  const error = await rejection(createClient(SensorService, transport).getReadings({}));
  assert.equal(error.code, Code.Unavailable);
  transport.close();
});
