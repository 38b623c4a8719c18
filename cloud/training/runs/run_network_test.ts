import assert from "node:assert/strict";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { RunNetwork, type RunNetworkOptions } from "./run_network.ts";

const ignore = Deno.build.os === "windows";
const text = new TextDecoder();
const bytes = (words: string) => new TextEncoder().encode(words);

/** A server that keeps what it was sent and answers with `answer`. */
function server(answer: string) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const got: string[] = [];
  void (async () => {
    for await (const socket of listener) {
      const buffer = new Uint8Array(4_096);
      const count = await socket.read(buffer).catch(() => null);
      got.push(text.decode(buffer.subarray(0, count ?? 0)));
      await socket.write(bytes(answer)).catch(() => 0);
      socket.close();
    }
  })();
  const { port } = listener.addr as Deno.NetAddr;
  return { port, got, [Symbol.dispose]: () => listener.close() };
}

function openNetwork(changes: Partial<RunNetworkOptions>): Promise<RunNetwork> {
  return RunNetwork.open({
    ...{ cloudUrl: "http://127.0.0.1:1", indexes: [], upstream: undefined },
    ...{ clock: systemClock, refused: () => {} },
    ...changes,
  });
}

/** Sends to one of its sockets, and reads to the end. */
async function ask(network: RunNetwork, name: string, words: string): Promise<string> {
  using socket = await Deno.connect({ transport: "unix", path: join(network.folder, name) });
  await socket.write(bytes(words));
  return await new Response(socket.readable).text().finally(() => {});
}

const test = (name: string, fn: () => Promise<void>) => Deno.test({ name, ignore, fn });

test("RunNetwork sends a plain request on as its target takes it", async () => {
  using target = server("HTTP/1.1 200 OK\r\n\r\nhello");
  const indexes = [{ host: "127.0.0.1", port: target.port }];
  await using network = await openNetwork({ indexes });
  const url = `http://127.0.0.1:${target.port}/simple/?a=b`;
  const said = await ask(
    network,
    "proxy",
    `GET ${url} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: y\r\n\r\n`,
  );
  assert.match(said, /\r\n\r\nhello$/);
  assert.deepEqual(target.got, [
    "GET /simple/?a=b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
  ]);
});

test("RunNetwork goes through the cloud's own proxy", async () => {
  using proxy = server("HTTP/1.1 200 Connection established\r\n\r\nhello");
  const upstream = { host: "127.0.0.1", port: proxy.port, authorization: "Basic abc" };
  const resolve = () => Promise.reject(new Error("no names here"));
  await using network = await openNetwork({ upstream, resolve });
  const said = await ask(network, "proxy", "CONNECT pypi.example:443 HTTP/1.1\r\n\r\n");
  assert.match(said, /hello$/);
  assert.deepEqual(proxy.got, [
    "CONNECT pypi.example:443 HTTP/1.1\r\nProxy-Authorization: Basic abc\r\n\r\n",
  ]);
  assert.match(await ask(network, "proxy", "CONNECT 10.0.0.1:443 HTTP/1.1\r\n\r\n"), / 403 /);
  assert.match(await ask(network, "proxy", "CONNECT router:443 HTTP/1.1\r\n\r\n"), / 502 /);
});

test("RunNetwork answers what is no request to a proxy", async () => {
  await using network = await openNetwork({});
  for (const words of ["GET / HTTP/1.1\r\n\r\n", "CONNECT x HTTP/1.1\r\n\r\n", "hello\r\n\r\n"]) {
    assert.match(await ask(network, "proxy", words), /^HTTP\/1\.1 400 /, words);
  }
  const long = `GET http://a.example/ HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
  assert.match(
    await ask(network, "proxy", long).catch(() => "HTTP/1.1 400 "),
    /^(HTTP\/1\.1 400 |$)/,
  );
});

test("RunNetwork gives its way out a name where the cloud has one", async () => {
  await using network = await openNetwork({ cloudUrl: "https://cloud.example" });
  assert.deepEqual(network.addresses, ["proxy=127.0.0.1:3128", "cloud=127.0.0.1:443"]);
  assert.match(await Deno.readTextFile(network.hosts), /^127\.0\.0\.1 cloud\.example$/m);
  assert.match(network.environment["no_proxy"] ?? "", /cloud\.example/);
});

test("RunNetwork leaves nothing behind", async () => {
  using target = server("");
  const network = await openNetwork({ cloudUrl: `http://127.0.0.1:${target.port}` });
  const socket = await Deno.connect({ transport: "unix", path: join(network.folder, "cloud") });
  await socket.write(bytes("x"));
  await waitFor(() => target.got.length > 0, { deadlineMs: 60_000 });
  await network[Symbol.asyncDispose]();
  await assert.rejects(Deno.stat(network.folder));
  socket.close();
});
