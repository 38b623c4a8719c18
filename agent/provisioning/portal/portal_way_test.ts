import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { defaultAgentSettings } from "../../../shared/config/agent_settings_testing.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeProvisioning, visibleNetwork } from "../fake_provisioning.ts";
import { portalWay, type PortalWayOptions } from "./portal_way.ts";

interface Rig {
  readonly port: FakeProvisioning;
  readonly clock: FakeClock;
  readonly tcpPort: number;
  readonly url: string;
}

async function withPortal(
  run: (rig: Rig) => Promise<void>,
  options: PortalWayOptions = {},
): Promise<void> {
  const port = new FakeProvisioning();
  port.visible = [visibleNetwork("Free", { security: "open" })];
  const clock = new FakeClock();
  const log = memoryLogger();
  const settings = defaultAgentSettings().network_configuration;
  const site = { port, address: "127.0.0.1", settings, name: "machine-setup-rover" };
  await using _way = await portalWay({ clock, log }, { tcpPort: 0, ...options }).start(site);
  const tcpPort = Number(log.entries.at(-1)?.fields["port"]);
  await run({ port, clock, tcpPort, url: `http://127.0.0.1:${tcpPort}` });
}

/** Everything that comes until the portal ends the connection. */
async function conversation(tcpPort: number, say: (socket: Socket) => void): Promise<string> {
  const socket = connect(tcpPort, "127.0.0.1");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  let heard = "";
  socket.on("data", (bytes) => heard += bytes.toString());
  socket.on("error", () => undefined);
  await once(socket, "connect");
  say(socket);
  await closed;
  return heard;
}

const post = (tcpPort: number, headers: string) =>
  `POST /save HTTP/1.1\r\nHost: 127.0.0.1:${tcpPort}\r\n` +
  `Content-Type: application/x-www-form-urlencoded\r\n${headers}\r\n\r\n`;

Deno.test("the page is served, and a form of it reaches the machine", () =>
  withPortal(async ({ url, port, clock }) => {
    const page = await (await fetch(url)).text();
    const token = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? "";
    const body = new URLSearchParams({ token, network: "46726565" });
    const answer = await fetch(`${url}/save`, { method: "POST", body });
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(port.network?.ssid.toHex(), "46726565");
    assert.equal(port.commits, 0);
    await clock.advance(1_000);
    assert.equal(port.commits, 1);
  }));

Deno.test("a body of a gigabyte is refused before it has come", () =>
  withPortal(async ({ tcpPort, port }) => {
    const heard = await conversation(tcpPort, (socket) => {
      socket.write(post(tcpPort, `Content-Length: ${1024 ** 3}`));
    });
    assert.match(heard, /^HTTP\/1\.1 413 /);
    assert.equal(port.active, 0);
  }, { waitMs: 2_000 }));

Deno.test("a body without an end is answered before its end, and its connection ended", () =>
  withPortal(async ({ tcpPort, port }) => {
    const heard = await conversation(tcpPort, (socket) => {
      socket.write(post(tcpPort, "Transfer-Encoding: chunked"));
      const piece = "400\r\n" + "x".repeat(1024) + "\r\n";
      const more = () => {
        if (socket.destroyed) return;
        if (socket.write(piece)) setImmediate(more);
        else socket.once("drain", more);
      };
      more();
    });
    assert.match(heard, /^HTTP\/1\.1 413 /);
    assert.equal(port.active, 0);
  }, { waitMs: 2_000 }));

Deno.test("headers, bodies and connections that do not come on are ended", () =>
  withPortal(async ({ tcpPort }) => {
    assert.equal(await conversation(tcpPort, () => undefined), "");
    assert.equal(await conversation(tcpPort, (socket) => socket.write("GET / HTTP/1.1\r\n")), "");
    const body = await conversation(tcpPort, (socket) => {
      socket.write(post(tcpPort, "Content-Length: 100") + "token=");
    });
    assert.match(body, /^HTTP\/1\.1 422 /);
    const idle = await conversation(tcpPort, (socket) => {
      socket.write(`GET /status HTTP/1.1\r\nHost: 127.0.0.1:${tcpPort}\r\n\r\n`);
    });
    assert.match(idle, /"state":"form"/);
  }, { waitMs: 1_000 }));

Deno.test("HTTP/2 and a malformed Host get no page", () =>
  withPortal(async ({ tcpPort }) => {
    const http2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    assert.equal(await conversation(tcpPort, (socket) => socket.write(http2)), "");
    const heard = await conversation(tcpPort, (socket) => {
      socket.write("GET / HTTP/1.1\r\nHost: <x>\r\nConnection: close\r\n\r\n");
    });
    assert.ok(!heard.includes("<html"), heard);
  }));

Deno.test("the number of connections has a bound, and those who are there are served", () =>
  withPortal(async ({ tcpPort, url }) => {
    const { promise: refused, resolve } = Promise.withResolvers<void>();
    const sockets = Array.from({ length: 260 }, () => {
      const socket = connect(tcpPort, "127.0.0.1");
      socket.on("error", () => undefined);
      socket.on("close", () => resolve());
      return socket;
    });
    await refused;
    for (const socket of sockets) socket.destroy();
    await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
    let status = 0;
    while (status !== 200) {
      try {
        const answer = await fetch(url);
        await answer.body?.cancel();
        status = answer.status;
      } catch (error) {
        // The portal has not learned of the end of the others yet.
        assert.ok(error instanceof TypeError);
      }
    }
  }));

Deno.test("start() says that the port is taken", () =>
  withPortal(async ({ tcpPort }) => {
    await assert.rejects(
      withPortal(() => Promise.resolve(), { tcpPort }),
      /another program uses that port/,
    );
  }));
