// Both ways in which the edge serves TLS: by node:tls, and by Deno.listenTls on older runtimes.
import { createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { ShellService } from "../../gen/viam/service/shell/v1/shell_pb.ts";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { createGrpcTransport } from "../client/grpc_transport.ts";
import { testRouter, withServer } from "../testing.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { AddressList } from "./address_list.ts";
import { nodeServesTls } from "./deno_tls_server.ts";
import { RpcServer, type RpcServerOptions } from "./server.ts";

const file = (name: string) => Deno.readTextFile(new URL(`../testdata/${name}`, import.meta.url));
const ca = await file("ca.pem");
const tls = { cert: await file("cert.pem"), key: await file("key.pem") };

type Options = Partial<RpcServerOptions>;

for (const nodeTls of [true, false]) {
  const by = nodeTls ? "node:tls" : "Deno.listenTls";
  const serve = (options: Options, run: (port: number, server: RpcServer) => Promise<void>) =>
    withServer(
      { tls, nodeTls, ...options },
      (_url, server) => run(server.address.port, server),
    );
  const readingOf = async (port: number): Promise<unknown> => {
    const transport = createGrpcTransport({ baseUrl: `https://localhost:${port}`, ca });
    const { readings } = await createClient(SensorService, transport).getReadings({ name: "s" });
    transport.close();
    return readings;
  };

  Deno.test(`RpcServer by ${by} speaks gRPC and HTTP on the same port`, async () => {
    await serve({ http: () => new Response("hello") }, async (port) => {
      assert.ok(await readingOf(port));
      const client = Deno.createHttpClient({ caCerts: [ca] });
      assert.equal(await (await fetch(`https://localhost:${port}`, { client })).text(), "hello");
      client.close();
    });
  });

  Deno.test(`RpcServer by ${by} takes long messages and conversations`, async () => {
    await serve({}, async (port) => {
      const transport = createGrpcTransport({ baseUrl: `https://localhost:${port}`, ca });
      const long = "x".repeat(3_000_000);
      const words = ["one", long, "three"];
      const back: string[] = [];
      async function* said() {
        for (const dataIn of words) yield { dataIn };
      }
      for await (const { dataOut } of createClient(ShellService, transport).shell(said())) {
        back.push(dataOut);
      }
      transport.close();
      assert.ok(back.join("") === words.join(""));
    });
  });

  Deno.test(`RpcServer by ${by} knows the caller's address and closes its connection`, async () => {
    const http = (_request: Request, peer: { address: string }) => new Response(peer.address);
    await serve({ http }, async (port) => {
      const answer = await new Promise<string>((resolve, reject) => {
        let all = "";
        const socket = connectTls({ host: "localhost", port, ca });
        socket.on("data", (bytes) => all += String(bytes));
        socket.on("close", () => resolve(all));
        socket.on("error", reject);
        socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
      });
      assert.match(answer, /127\.0\.0\.1$/);
    });
  });

  Deno.test(`RpcServer by ${by} takes a PROXY header of a balancer in front of TLS`, async () => {
    const http = (_request: Request, peer: { address: string }) => new Response(peer.address);
    const header = "PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n";
    const answerTo = (port: number, proxied: string) =>
      new Promise<string>((resolve) => {
        let all = "";
        const ended = () => resolve(all);
        const raw = connect({ host: "127.0.0.1", port }, () => {
          if (proxied !== "") raw.write(proxied);
          const socket = connectTls({ socket: raw, servername: "localhost", ca });
          socket.on("data", (bytes) => all += String(bytes));
          socket.on("close", ended).on("error", ended);
          socket.write("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        });
        raw.on("close", ended).on("error", ended);
      });
    await serve({ http, balancers: new AddressList(["127.0.0.1"]) }, async (port) => {
      assert.match(await answerTo(port, header), /203\.0\.113\.7$/);
      assert.match(await answerTo(port, "PROXY UNKNOWN\r\n"), /127\.0\.0\.1$/);
      assert.equal(await answerTo(port, ""), "", "without a header");
    });
    await serve({ http, balancers: new AddressList(["192.0.2.1"]) }, async (port) => {
      assert.match(await answerTo(port, ""), /127\.0\.0\.1$/);
      assert.equal(await answerTo(port, header), "", "of nobody's balancer");
    });
  });

  Deno.test(`RpcServer by ${by} counts connections in their handshakes`, async () => {
    const refused: string[] = [];
    const onRefused = (_address: string, reason: string) => refused.push(reason);
    await serve({ onRefused, limits: { total: 3, handshakeMs: 600_000 } }, async (port) => {
      const silent = [1, 2, 3].map(() => connect({ host: "127.0.0.1", port }));
      await Promise.all(silent.map((socket) => once(socket, "connect")));
      const last = connect({ host: "127.0.0.1", port });
      await waitFor(() => refused.length === 1, { deadlineMs: 60_000 });
      for (const socket of [...silent, last]) socket.destroy();
      const answers = () => readingOf(port).then(() => true, () => false);
      await waitFor(answers, { deadlineMs: 60_000 });
    });
  });

  Deno.test(`RpcServer by ${by} ends a handshake that does not come, and survives garbage`, async () => {
    await serve({ limits: { handshakeMs: 200 } }, async (port) => {
      for (
        const bytes of [
          undefined,
          "GET / HTTP/1.1\r\n\r\n",
          "\x16\x03\x01\xff\xff",
          "\x16\x03\x01\x00\xff",
        ]
      ) {
        await new Promise<void>((resolve) => {
          const socket = connect({ host: "127.0.0.1", port }, () => bytes && socket.write(bytes));
          socket.on("error", () => undefined);
          socket.on("data", () => undefined);
          socket.on("close", () => resolve());
        });
      }
      assert.ok(await readingOf(port));
    });
  });
}

Deno.test("RpcServer by Deno.listenTls serves another certificate from then on, on its port", async () => {
  const server = await RpcServer.start({
    ...{ router: testRouter(), listen: { hostname: "127.0.0.1", port: 0 }, tls, nodeTls: false },
  });
  const { port } = server.address;
  const open = createGrpcTransport({ baseUrl: `https://localhost:${port}`, ca });
  const client = createClient(SensorService, open);
  await client.getReadings({ name: "s" });
  server.setCertificate(tls);
  assert.equal(server.address.port, port);
  await client.getReadings({ name: "s" }); // The open connection continues.
  const later = createGrpcTransport({ baseUrl: `https://localhost:${port}`, ca });
  await createClient(SensorService, later).getReadings({ name: "s" });
  assert.throws(() => server.setCertificate({ cert: "no", key: "no" }));
  const still = createGrpcTransport({ baseUrl: `https://localhost:${port}`, ca });
  await createClient(SensorService, still).getReadings({ name: "s" });
  for (const transport of [open, later, still]) transport.close();
  await server.close({ graceMs: 100 });
});

Deno.test("nodeServesTls() is true from Deno 2.9 on", () => {
  const versions = ["1.46.0", "2.7.11", "2.8.9", "2.9.0", "2.9.6", "2.10.1", "3.0.0"];
  assert.deepEqual(versions.map(nodeServesTls), [false, false, false, true, true, true, true]);
});
