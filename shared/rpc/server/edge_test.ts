import { Code, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { SensorService } from "../../gen/viam/component/sensor/v1/sensor_pb.ts";
import { waitFor } from "../../base/time/wait_for.ts";
import { freePort } from "../../test_tools/free_port.ts";
import { AddressList } from "./address_list.ts";
import { DEFAULT_CONNECTION_LIMITS } from "./connection_limits.ts";
import { Edge } from "./edge.ts";
import { PortInUseError } from "./errors.ts";
import { createGrpcTransport } from "../client/grpc_transport.ts";
import { RpcServer } from "./server.ts";
import { rejection, testRouter, withServer } from "../testing.ts";

const GET = "GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
const KEPT = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const PROXIED = "PROXY TCP4 203.0.113.7 10.0.0.1 4711 443\r\n";

/** Opens a raw connection, sends nothing or some bytes, and waits until the server ends it. */
function rawConnection(port: number, bytes?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect({ host: "127.0.0.1", port }, () => bytes && socket.write(bytes));
    socket.on("data", (chunk) => received += String(chunk));
    const late = setTimeout(() => socket.destroy(new Error("nobody ended it")), 60_000);
    socket.on("error", reject);
    socket.on("close", () => {
      clearTimeout(late);
      resolve(received);
    });
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
    assert.deepEqual(refused, ["1 descriptors of connections are open"]);
  });
});

Deno.test("RpcServer takes the caller's address from a PROXY header when told to", async () => {
  const http = (_request: Request, peer: { address: string; local: boolean }) =>
    new Response(`${peer.address} ${peer.local}`);
  const balancers = new AddressList(["127.0.0.1"]);
  const refused: string[] = [];
  const onRefused = (address: string, reason: string) => refused.push(`${address}: ${reason}`);
  await withServer({ balancers, http, onRefused }, async (_url, server) => {
    const answer = await rawConnection(server.address.port, PROXIED + GET);
    assert.match(answer, /203\.0\.113\.7 false$/);
    assert.equal(await rawConnection(server.address.port, GET), "", "without a header");
    assert.match(refused.join(), /^127\.0\.0\.1: .* does not start with a PROXY header$/);
  });
});

Deno.test("RpcServer refuses a PROXY header of who is no balancer, and answers without", async () => {
  const http = (_request: Request, peer: { address: string }) => new Response(peer.address);
  const refused: string[] = [];
  const onRefused = (_address: string, reason: string) => refused.push(reason);
  const balancers = new AddressList(["192.0.2.0/24"]);
  for (const options of [{ balancers, http, onRefused }, { http, onRefused }]) {
    await withServer(options, async (_url, server) => {
      assert.match(await rawConnection(server.address.port, GET), /127\.0\.0\.1$/);
      assert.equal(await rawConnection(server.address.port, PROXIED + GET), "");
      const second = "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + "\x01".repeat(12);
      assert.equal(await rawConnection(server.address.port, second + GET), "");
    });
  }
  assert.deepEqual(
    new Set(refused),
    new Set(["it sends a PROXY header and is no trusted balancer"]),
  );
  assert.equal(refused.length, 4);
});

Deno.test("RpcServer counts connections by whom a balancer speaks for", async () => {
  const balancers = new AddressList(["127.0.0.1"]);
  const refused: string[] = [];
  const onRefused = (address: string, reason: string) => refused.push(`${address}: ${reason}`);
  const http = () => new Response("here");
  await withServer(
    { balancers, http, onRefused, limits: { perAddress: 3 } },
    async (_url, server) => {
      const { port } = server.address;
      const first = connect({ host: "127.0.0.1", port }, () => first.write(PROXIED + KEPT));
      await once(first, "data");
      assert.equal(await rawConnection(port, PROXIED + GET), "");
      assert.match(refused.join(), /^203\.0\.113\.7: 3 descriptors of connections from 203\.0/);
      const other = PROXIED.replace("203.0.113.7", "203.0.113.8");
      assert.match(await rawConnection(port, other + GET), /here$/);
      first.destroy();
      await waitFor(async () => (await rawConnection(port, PROXIED + GET)).endsWith("here"), {
        deadlineMs: 60_000,
      });
    },
  );
});

Deno.test("RpcServer counts callers behind a balancer before they have said anything", async () => {
  const refused: string[] = [];
  const onRefused = (address: string, reason: string) => refused.push(`${address}: ${reason}`);
  const balancers = new AddressList(["127.0.0.1"]);
  const limits = { perAddress: 3, handshakeMs: 600_000 };
  await withServer({ balancers, onRefused, limits }, async (_url, server) => {
    const { port } = server.address;
    const silent = [1, 2, 3, 4].map(() => connect({ host: "127.0.0.1", port }));
    for (const socket of silent) socket.write(PROXIED);
    await waitFor(() => refused.length === 1, { deadlineMs: 60_000 });
    assert.match(refused.join(), /^203\.0\.113\.7: 3 descriptors of connections from 203\.0/);
    for (const socket of silent) socket.destroy();
  });
});

Deno.test("RpcServer takes a PROXY header in pieces, once, and loses nothing behind it", async () => {
  const refused: string[] = [];
  const onRefused = (address: string, reason: string) => refused.push(`${address}: ${reason}`);
  const balancers = new AddressList(["127.0.0.1"]);
  const http = async (request: Request, { address }: { address: string }) =>
    new Response(`${await request.text()} ${address}`);
  await withServer({ balancers, http, onRefused }, async (_url, server) => {
    const { port } = server.address;
    const post = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\nconnection: close\r\n\r\nbody";
    const answer = await new Promise<string>((resolve, reject) => {
      let received = "";
      const socket = connect({ host: "127.0.0.1", port, noDelay: true }, async () => {
        for (const byte of PROXIED + post) {
          socket.write(byte);
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      });
      socket.on("data", (chunk) => received += String(chunk));
      socket.on("error", reject);
      socket.on("close", () => resolve(received));
    });
    assert.match(answer, /body 203\.0\.113\.7$/);
    assert.equal(await rawConnection(port, PROXIED + PROXIED + GET), "");
    assert.match(refused.join(), /^203\.0\.113\.7: it sends a PROXY header and is no trusted/);
  });
});

Deno.test("createGrpcTransport() reports an address where nothing listens as UNAVAILABLE", async () => {
  const port = freePort();
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
  const error = await rejection(createClient(SensorService, transport).getReadings({}));
  assert.equal(error.code, Code.Unavailable);
  transport.close();
});

Deno.test("RpcServer counts a connection over HTTP/1.1 as the three descriptors that it takes", async () => {
  const refused: string[] = [];
  const onRefused = (_address: string, reason: string) => refused.push(reason);
  await withServer({ limits: { total: 2 }, onRefused }, async (_url, server) => {
    assert.equal(await rawConnection(server.address.port, "GET / HTTP/1.1\r\n\r\n"), "");
    assert.deepEqual(refused, ["2 descriptors of connections are open"]);
    // All of them are given back.
    const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
    await createClient(SensorService, transport).getReadings({ name: "s" });
    transport.close();
  });
});

Deno.test("RpcServer ends HTTP/1.1 connections whose headers or next request don't come", async () => {
  const http = () => new Response("hello");
  await withServer({ limits: { headersMs: 500, idleMs: 500 }, http }, async (_url, server) => {
    assert.equal(await rawConnection(server.address.port, "GET / HTTP/1.1\r\nhost:"), "");
    const again = "GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HT";
    assert.match(await rawConnection(server.address.port, again), /^HTTP\/1.1 200/);
  });
  await withServer({ limits: { headersMs: 60_000, idleMs: 500 }, http }, async (_url, server) => {
    const once = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    assert.match(await rawConnection(server.address.port, once), /^HTTP\/1.1 200/);
  });
});

Deno.test("RpcServer ends an HTTP/1.1 connection whose second request doesn't come on", async () => {
  const http = () => new Response("hello");
  await withServer({ limits: { headersMs: 500, idleMs: 600_000 }, http }, async (_url, server) => {
    const socket = connect(server.address.port, "127.0.0.1");
    const late = setTimeout(() => socket.destroy(new Error("nobody ended it")), 60_000);
    let problem: Error | undefined;
    socket.on("error", (error) => {
      if (/nobody/.test(error.message)) problem = error;
    });
    const closed = once(socket, "close");
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    let text = "";
    let drip: ReturnType<typeof setInterval> | undefined;
    socket.on("data", (bytes) => {
      if (drip) return;
      text += String(bytes);
      // The first is answered; of the second one byte comes after the other.
      if (text.endsWith("hello")) drip = setInterval(() => socket.write("x"), 20);
    });
    await closed.catch(() => undefined);
    clearInterval(drip);
    clearTimeout(late);
    assert.equal(problem, undefined);
    assert.match(text, /^HTTP\/1.1 200/);
  });
});

Deno.test("RpcServer ends a body that doesn't come on, and hands others over whole", async () => {
  const pace = { openMs: 50, graceMs: 50, bytesPerMs: 1_000 };
  const http = async (request: Request) => new Response(await request.text().catch(String));
  await withServer({ pace, http, limits: { idleMs: 50 } }, async (_url, server) => {
    const half = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345";
    assert.match(await rawConnection(server.address.port, half), /was not complete/);
  });
  // On a busy host a whole body may take longer than 100 ms, too.
  const patient = { ...pace, openMs: 60_000 };
  await withServer({ pace: patient, http, limits: { idleMs: 60_000 } }, async (url) => {
    const body = "x".repeat(1_000_000);
    assert.equal(await (await fetch(url, { method: "POST", body })).text(), body);
  });
});

Deno.test("RpcServer refuses a malformed Host in plain words", async () => {
  await withServer({}, async (_url, server) => {
    for (const host of ["a b", "[", "x:y:z", "%"]) {
      const request = `GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
      const answer = await rawConnection(server.address.port, request);
      assert.match(answer, /^HTTP\/1.1 400/, host);
      assert.doesNotMatch(answer, /TypeError|\.ts/, host);
    }
  });
});

Deno.test("RpcServer refuses TRACE without a line in the log for each", async () => {
  const reported: unknown[] = [];
  const http = () => Promise.resolve(new Response("here"));
  await withServer({ http, report: (error) => reported.push(error) }, async (_url, server) => {
    for (const method of ["TRACE", "TRACK"]) {
      const request = `${method} / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
      assert.match(await rawConnection(server.address.port, request), /^HTTP\/1.1 405/);
    }
    assert.deepEqual(reported, []);
  });
});

Deno.test("RpcServer tells callers nothing of what went wrong inside", async () => {
  const reported: unknown[] = [];
  const report = (error: unknown) => reported.push(error);
  const http = () => {
    throw new TypeError("secret detail");
  };
  await withServer({ http, report }, async (url) => {
    const answer = await fetch(url);
    assert.equal(answer.status, 500);
    assert.doesNotMatch(await answer.text(), /secret/);
    assert.match(String(reported[0]), /secret detail/);
  });
});

Deno.test("Edge knows callers of the private port by address and port", async () => {
  const opened = Promise.withResolvers<Deno.NetAddr>();
  const inner = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port: httpPort } = inner.addr as Deno.NetAddr;
  const accepted = inner.accept().then((connection) => {
    opened.resolve(connection.remoteAddr as Deno.NetAddr);
    return connection;
  });
  const edge = await Edge.listen({
    listen: { hostname: "127.0.0.1", port: 0 },
    limits: DEFAULT_CONNECTION_LIMITS,
    onHttp2: () => undefined,
    httpPort,
    onRefused: () => undefined,
  });
  const caller = connect({ host: "127.0.0.1", port: edge.address.port });
  caller.write("GET / HTTP/1.1\r\n");
  const { port } = await opened.promise;
  const known = () => edge.behindPrivate({ hostname: "127.0.0.1", port });
  await waitFor(() => known() !== undefined, { deadlineMs: 60_000 });
  assert.equal(edge.behindPrivate({ hostname: "127.0.0.2", port }), undefined);
  caller.destroy();
  await waitFor(() => known() === undefined, { deadlineMs: 60_000 });
  (await accepted).close();
  inner.close();
  edge.destroy();
});
