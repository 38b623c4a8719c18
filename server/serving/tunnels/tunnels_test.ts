import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { RobotService, TunnelRequestSchema } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { Tunnels } from "./tunnels.ts";

const DEADLINE = { deadlineMs: 60_000 };

/** What happens at the port with one connection; the connection is closed afterwards. */
type Behaviour = (connection: Deno.Conn) => Promise<void>;

/** A served `Tunnels` and a port of this host. */
async function setUp(behaviour: Behaviour) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  let connections = 0;
  let ended = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      connections++;
      void behaviour(connection).catch(() => {}).finally(() => {
        ended++;
        try {
          connection.close();
        } catch {
          // the test has closed it
        }
      });
    }
  })();
  const tunnels = new Tunnels({ clock: systemClock });
  tunnels.setEndpoints([{ port }]);
  const router = new RpcRouter().service(RobotService, {
    tunnel: (requests, { signal }) => tunnels.open(requests, signal),
    listTunnels: () => tunnels.list(),
  });
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  const transport = createGrpcTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  return {
    port,
    tunnels,
    robot: createClient(RobotService, transport),
    connections: () => connections,
    ended: () => ended,
    async [Symbol.asyncDispose]() {
      await transport.close();
      await server.close({ graceMs: 0 });
      listener.close();
      await accepting;
    },
  };
}

async function echo(connection: Deno.Conn): Promise<void> {
  await connection.readable.pipeTo(connection.writable);
}

async function* messages(port: number, ...texts: string[]) {
  for (const text of texts) {
    yield { destinationPort: port, data: new TextEncoder().encode(text) };
  }
}

async function bytesOf(answers: AsyncIterable<{ data: Uint8Array }>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const { data } of answers) parts.push(data);
  return new Uint8Array(await new Blob(parts.map((part) => part.slice())).arrayBuffer());
}

async function failure(answers: AsyncIterable<{ data: Uint8Array }>): Promise<string> {
  try {
    await bytesOf(answers);
    return "no failure";
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return `${Code[code]}: ${rawMessage}`;
  }
}

Deno.test("open() carries bytes both ways until both sides are done", async () => {
  await using machine = await setUp(echo);
  const answer = await bytesOf(machine.robot.tunnel(messages(machine.port, "one ", "two ", "3")));
  assert.equal(new TextDecoder().decode(answer), "one two 3");
  await waitFor(() => machine.ended() === 1, DEADLINE);
});

Deno.test("open() carries more than fits into any buffer", async () => {
  await using machine = await setUp(echo);
  const block = new Uint8Array(64 * 1024).map((_, at) => at % 251);
  const BLOCKS = 128;
  async function* blocks() {
    for (let n = 0; n < BLOCKS; n++) yield { destinationPort: machine.port, data: block };
  }
  const answer = await bytesOf(machine.robot.tunnel(blocks()));
  assert.equal(answer.length, BLOCKS * block.length);
  assert.ok(answer.every((byte, at) => byte === at % block.length % 251));
});

Deno.test("open() hears a port that speaks first and hangs up", async () => {
  await using machine = await setUp(async (connection) => {
    await connection.write(new TextEncoder().encode("SSH-2.0-test\r\n"));
  });
  const silent = async function* () {
    yield { destinationPort: machine.port };
    await new Promise(() => {}); // the caller keeps its side open
  };
  const answer = await bytesOf(machine.robot.tunnel(silent()));
  assert.equal(new TextDecoder().decode(answer), "SSH-2.0-test\r\n");
});

Deno.test("open() closes the connection when the caller goes away", async () => {
  await using machine = await setUp(echo);
  const leaving = new AbortController();
  const held = async function* () {
    yield { destinationPort: machine.port, data: new TextEncoder().encode("x") };
    await new Promise(() => {});
  };
  const answers = machine.robot.tunnel(held(), { signal: leaving.signal });
  const first = await answers[Symbol.asyncIterator]().next();
  assert.equal(first.done, false);
  assert.equal(machine.ended(), 0);
  leaving.abort();
  await waitFor(() => machine.ended() === 1, DEADLINE);
});

Deno.test("open() goes only to ports of the configuration", async () => {
  await using machine = await setUp(echo);
  const { robot, tunnels, port } = machine;
  const refused = (asked: number) =>
    `FailedPrecondition: tunnel not available at port ${asked}; ` +
    "network.traffic_tunnel_endpoints of the configuration names the ports that may be reached";
  assert.equal(await failure(robot.tunnel(messages(port + 1, "x"))), refused(port + 1));
  tunnels.setEndpoints();
  assert.equal(await failure(robot.tunnel(messages(port, "x"))), refused(port));
  assert.equal(
    await failure(robot.tunnel(messages(port))),
    "InvalidArgument: the stream was closed without a message that names destination_port",
  );
  assert.equal(machine.connections(), 0);
});

Deno.test("open() ends when its port is no longer one of the configuration's", async () => {
  await using machine = await setUp(echo);
  const { port, robot, tunnels } = machine;
  const held = async function* () {
    yield { destinationPort: port, data: new TextEncoder().encode("x") };
    await new Promise(() => {});
  };
  const answers = robot.tunnel(held())[Symbol.asyncIterator]();
  assert.equal((await answers.next()).done, false);
  tunnels.setEndpoints([{ port }, { port: port + 1 }]);
  assert.equal(machine.ended(), 0);
  const next = answers.next().then(String, (error) => ConnectError.from(error).message);
  tunnels.setEndpoints([{ port: port + 1 }]);
  assert.match(await next, /^\[failed_precondition\] tunnel not available at port \d+; network/);
  await waitFor(() => machine.ended() === 1, DEADLINE);
});

Deno.test("open() says when nothing listens at the port", async () => {
  await using machine = await setUp(echo);
  const port = freePort();
  machine.tunnels.setEndpoints([{ port }]);
  assert.match(
    await failure(machine.robot.tunnel(messages(port, "x"))),
    new RegExp(`^Unavailable: cannot connect to port ${port} of this host: .*refused`),
  );
});

Deno.test("open() times out on a port that does not answer in time and closes it when it does", async () => {
  const clock = new FakeClock();
  const late = Promise.withResolvers<Deno.Conn>();
  const tunnels = new Tunnels({ clock, connect: () => late.promise });
  tunnels.setEndpoints([{ port: 22, connection_timeout: "3s" }]);
  async function* asked() {
    yield create(TunnelRequestSchema, { destinationPort: 22 });
  }
  const outcome = failure(tunnels.open(asked(), new AbortController().signal));
  await clock.advance(3_000);
  assert.equal(
    await outcome,
    "Unavailable: cannot connect to port 22 of this host: " +
      "the connection took longer than 3000 ms",
  );
  let closed = 0;
  late.resolve({ close: () => closed++ } as unknown as Deno.Conn);
  await clock.advance(0);
  assert.equal(closed, 1);
});

Deno.test("list() names the ports with their times", () => {
  const tunnels = new Tunnels({ clock: new FakeClock() });
  tunnels.setEndpoints([{ port: 22 }, { port: 8000, connection_timeout: "1500ms" }]);
  assert.deepEqual(
    tunnels.list().tunnels.map(({ port, connectionTimeout: { seconds, nanos } }) => [
      port,
      Number(seconds) + nanos / 1e9,
    ]),
    [[22, 10], [8000, 1.5]],
  );
});
