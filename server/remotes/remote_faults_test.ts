/** Remotes that misbehave: each is in status with what to do, and memory stays bounded. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { systemClock } from "../../shared/base/time/clock.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import {
  ResourceNamesResponseSchema,
  ResourceStatus_State,
  RobotService,
} from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { RpcServer } from "../../shared/rpc/server/server.ts";
import type { ResourceSpec } from "../resources/graph/target.ts";
import { dialRemote } from "./dial.ts";
import { MACHINES_HEADER } from "../serving/apis/robot.ts";
import { RemoteManager } from "./remote_manager.ts";
import { MOST_RESOURCES } from "./remote_names.ts";

const sensor = (name: string) => ({
  namespace: "rdk",
  type: "component",
  subtype: "sensor",
  name,
});

/** A manager that connects directly, with what it reported last. */
class Manager implements AsyncDisposable {
  readonly log = memoryLogger();
  specs: readonly ResourceSpec[] = [];
  reports = 0;
  readonly #manager = new RemoteManager({
    ownId: "me",
    apis: { serviceOf: () => SensorService, add: () => {} },
    dial: (settings, signal) =>
      dialRemote(settings, {
        ...{ webrtc: false, allowInsecure: false, cloudSignaling: () => undefined },
        ...{ peers: () => Promise.reject(new Error("unused")), clock: systemClock, log: this.log },
      }, signal),
    clock: systemClock,
    log: this.log,
    onChange: (specs) => {
      this.specs = specs;
      this.reports++;
    },
  });

  constructor(address: string, connection_check_interval = "1s") {
    this.#manager.apply([{ name: "r", address, connection_check_interval }], "1");
  }

  machines(): string {
    return this.#manager.machines();
  }

  async until(like: RegExp): Promise<void> {
    const what = `${like}`;
    await waitFor(() => {
      const [remote] = this.#manager.snapshot();
      return like.test(remote?.error || remote?.state || "");
    }, { deadlineMs: 60_000, what });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#manager.close();
  }
}

async function serve(router: RpcRouter) {
  const server = await RpcServer.start({ router, listen: { hostname: "127.0.0.1", port: 0 } });
  return {
    address: `127.0.0.1:${server.address.port}`,
    [Symbol.asyncDispose]: () => server.close({ graceMs: 0 }),
  };
}

/** Passes bytes on until it is frozen: from then on nobody learns anything of the other. */
class Pipe implements Disposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open: Deno.Conn[] = [];
  isFrozen = false;

  constructor(private readonly port: number) {
    void this.#accept();
  }

  get address(): string {
    return `127.0.0.1:${this.#listener.addr.port}`;
  }

  async #accept(): Promise<void> {
    for await (const near of this.#listener) {
      const far = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
      this.#open.push(near, far);
      for (const [from, to] of [[near, far], [far, near]] as const) {
        void this.#copy(from, to).catch(() => undefined);
      }
    }
  }

  async #copy(from: Deno.Conn, to: Deno.Conn): Promise<void> {
    const bytes = new Uint8Array(16_384);
    for (let read = await from.read(bytes); read !== null; read = await from.read(bytes)) {
      if (!this.isFrozen) await to.write(bytes.subarray(0, read));
    }
  }

  [Symbol.dispose](): void {
    this.#listener.close();
    for (const connection of this.#open) connection.close();
  }
}

Deno.test("a half-open connection is lost, and comes back", async () => {
  const router = new RpcRouter().service(RobotService, {
    resourceNames(_request, { responseHeader }) {
      responseHeader.set(MACHINES_HEADER, "them,c=third");
      return { resources: [sensor("s")] };
    },
  });
  await using server = await serve(router);
  using pipe = new Pipe(Number(server.address.split(":")[1]));
  await using manager = new Manager(pipe.address);
  await manager.until(/^ready$/);
  assert.deepEqual(manager.specs.map(({ name, problem }) => [name, problem]), [
    ["r:s", undefined],
  ]);
  pipe.isFrozen = true;
  await manager.until(/does not answer in time.*check the network/);
  assert.match(manager.specs[0]?.problem ?? "", /^remote r is not connected: it does not answer/);
  // Others see by it which of these resources are their own.
  assert.equal(manager.machines(), "me,r=them,r:c=third");
  pipe.isFrozen = false;
  await manager.until(/^ready$/);
  assert.equal(manager.specs[0]?.problem, undefined);
});

Deno.test("a peer that is no machine server is named so", async () => {
  await using server = await serve(new RpcRouter());
  await using manager = new Manager(server.address);
  await manager.until(
    /there is no machine server at 127\.0\.0\.1:\d+, or one of another version \(.*\); check/,
  );
  assert.deepEqual(manager.specs, []);
});

Deno.test("what can be called and is unhealthy on a remote is unhealthy here, until it is well", async () => {
  let error = "the camera is not there; plug it in";
  const router = new RpcRouter().service(RobotService, {
    resourceNames: () => ({ resources: [sensor("s")] }),
    getMachineStatus: () => ({
      resources: [{
        name: sensor("s"),
        state: error === "" ? ResourceStatus_State.READY : ResourceStatus_State.UNHEALTHY,
        error,
      }],
    }),
  });
  await using server = await serve(router);
  await using manager = new Manager(server.address);
  await manager.until(/^ready$/);
  const [spec] = manager.specs;
  assert.equal(spec?.problem, undefined, "it is built");
  const resource = await spec!.builtBy!.construct({} as never);
  assert.equal(resource.problem?.(), `on remote r: ${error}`);
  error = "";
  await waitFor(() => resource.problem?.() === undefined, { deadlineMs: 60_000 });
});

Deno.test("a reason of a remote that counts is news once, and says no number that is past", async () => {
  let asked = 0;
  const router = new RpcRouter().service(RobotService, {
    resourceNames: () => ({ resources: [sensor("s")] }),
    getMachineStatus: () => ({
      resources: [sensor("s"), sensor("gone")].map((name) => ({
        name,
        state: ResourceStatus_State.UNHEALTHY,
        error: `pin 4: attempt ${++asked}, silent since ${asked * 5} s`,
      })),
    }),
  });
  await using server = await serve(router);
  await using manager = new Manager(server.address, "100ms");
  await manager.until(/^ready$/);
  const steady = "on remote r: pin 4: attempt …, silent since … s";
  const problems = () => manager.specs.map(({ name, problem }) => `${name} ${problem}`).sort();
  await waitFor(() => problems().includes(`r:gone ${steady}`), { deadlineMs: 60_000 });
  const { reports } = manager;
  const from = asked;
  await waitFor(() => asked > from + 4, { deadlineMs: 60_000 });
  assert.equal(manager.reports, reports);
  const found = manager.specs.find(({ name }) => name === "r:s");
  const resource = await found!.builtBy!.construct({} as never);
  assert.equal(resource.problem?.(), steady);
});

Deno.test("a remote whose status never ends is used without it", async () => {
  const router = new RpcRouter().service(RobotService, {
    resourceNames: () => ({ resources: [sensor("s")] }),
    getMachineStatus: () => new Promise(() => {}),
  });
  await using server = await serve(router);
  await using manager = new Manager(server.address);
  await manager.until(/^ready$/);
  assert.deepEqual(manager.specs.map(({ name }) => name), ["r:s"]);
});

Deno.test("of 10,000 resources as many are taken as are allowed, and the log says so", async () => {
  const resources = Array.from({ length: 10_000 }, (_, at) => sensor(`s${at}`));
  const router = new RpcRouter().service(RobotService, { resourceNames: () => ({ resources }) });
  await using server = await serve(router);
  await using manager = new Manager(server.address);
  await manager.until(/^ready$/);
  assert.equal(manager.specs.length, MOST_RESOURCES);
  assert.match(manager.log.text(), /remote r: it has 10000 resources.*Split it/);
});

Deno.test("a peer that speaks something else is reported", async () => {
  const garbage = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const accepting = (async () => {
    for await (const connection of garbage) {
      void connection.write(new TextEncoder().encode("SSH-2.0-x\r\n")).then(
        () => connection.close(),
        () => undefined,
      );
    }
  })();
  try {
    await using manager = new Manager(`127.0.0.1:${garbage.addr.port}`);
    await manager.until(/cannot be reached|TLS to/);
  } finally {
    garbage.close();
    await accepting.catch(() => undefined);
  }
});

Deno.test("a remote whose status has messages without end is used without it", async () => {
  const remote = createServer();
  const endless = Promise.withResolvers<void>();
  remote.on("stream", (stream: ServerHttp2Stream, headers) => {
    stream.on("error", () => {});
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, {
      waitForTrailers: true,
    });
    const message = (bytes: Uint8Array) => {
      const head = new Uint8Array(5);
      new DataView(head.buffer).setUint32(1, bytes.length);
      return Buffer.concat([head, bytes]);
    };
    if (headers[":path"]?.endsWith("/ResourceNames")) {
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      const names = create(ResourceNamesResponseSchema, { resources: [sensor("s")] });
      stream.end(message(toBinary(ResourceNamesResponseSchema, names)));
      return;
    }
    stream.on("close", () => endless.resolve());
    const more = () => {
      while (!stream.destroyed && stream.write(message(new Uint8Array(0))));
    };
    stream.on("drain", more);
    more();
  });
  await new Promise<void>((resolve) => remote.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = remote.address() as AddressInfo;
    await using manager = new Manager(`127.0.0.1:${port}`);
    await manager.until(/^ready$/);
    await endless.promise;
    assert.deepEqual(manager.specs.map(({ name }) => name), ["r:s"]);
  } finally {
    remote.close();
  }
});
