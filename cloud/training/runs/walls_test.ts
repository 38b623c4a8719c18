import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { networkInterfaces } from "node:os";
import { Code } from "@connectrpc/connect";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { ignoreBecause } from "../../../shared/test_tools/skips.ts";
import type { RunLimits } from "./limits.ts";
import type { LocalRunner, LocalRunnerOptions } from "./local_runner.ts";
import { noNamespacesBecause } from "./namespaces_testing.ts";
import { plainSandbox } from "./sandbox.ts";
import { RunnerRig } from "./scripts_testing.ts";
import { tryingAll, waysOut } from "./ways_out_testing.ts";

const ignore = ignoreBecause(import.meta.url, noNamespacesBecause());
const rig = await RunnerRig.open();
Deno.test.afterAll(() => rig[Symbol.asyncDispose]());

/** Where a wall cannot be made nothing runs, and what hangs as one is missing is stopped. */
function walled(
  limits: Partial<RunLimits> = {},
  options: Partial<LocalRunnerOptions> = {},
): LocalRunner {
  return rig.runner({ wallMs: 300_000, ...limits }, { allowNoWalls: false, ...options });
}

function addressInNetwork(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address ??
    "10.255.0.1";
}

/** A listener that answers each connection with a line, and counts them. */
function service(hostname = "127.0.0.1") {
  const listener = Deno.listen({ hostname, port: 0 });
  const found = {
    port: (listener.addr as Deno.NetAddr).port,
    calls: 0,
    close: () => listener.close(),
  };
  void (async () => {
    for await (const socket of listener) {
      found.calls++;
      await socket.read(new Uint8Array(4_096)).catch(() => null);
      const answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
      await socket.write(new TextEncoder().encode(answer)).catch(() => 0);
      socket.close();
    }
  })();
  return found;
}

Deno.test({
  name: "a training script finds no way out of its walls",
  ignore,
  async fn(t) {
    const other = service("0.0.0.0");
    const cloud = service();
    const tlsKey = `${rig.dataDir}.tls.key`;
    const cloudKey = join(rig.dataDir, "cloud.key");
    const socket = `${rig.dataDir}.sock`;
    for (const path of [tlsKey, cloudKey]) await Deno.writeTextFile(path, "secret");
    const unix = Deno.listen({ transport: "unix", path: socket });
    const inShared = `/dev/shm/machine-${crypto.randomUUID()}`;
    try {
      const ways = waysOut({
        ...{ tlsKey, cloudKey, socket, dataDir: rig.dataDir, pid: Deno.pid, port: other.port },
        program: join(dirname(new URL(import.meta.url).pathname), "walls.ts"),
        home: Deno.env.get("HOME") ?? "/root",
        address: addressInNetwork(),
      });
      assert.ok(Object.keys(ways).length >= 30);
      const runner = walled({}, { cloudUrl: () => `http://127.0.0.1:${cloud.port}` });
      const code = `open(${JSON.stringify(inShared)}, "w").write("x")\n${tryingAll(ways)}`;
      const run = await rig.start(runner, code);
      assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
      for (const name of Object.keys(ways)) {
        await t.step(`it cannot ${name}`, () => {
          assert.ok(run.has(`refused ${name}: `), run.lines.join("\n"));
        });
      }
      assert.equal(other.calls, 0);
      await assert.rejects(Deno.remove(inShared), Deno.errors.NotFound);
      assert.ok(run.has(`warn 127.0.0.1:${other.port} is not on the public internet`));
    } finally {
      other.close();
      cloud.close();
      unix.close();
      for (const path of [tlsKey, cloudKey, socket]) await Deno.remove(path).catch(() => {});
    }
  },
});

Deno.test({
  name: "the ways out are ways out: without walls a script finds most of them",
  ignore,
  async fn() {
    const cloudKey = join(rig.dataDir, "cloud.key");
    await Deno.writeTextFile(cloudKey, "secret");
    const other = service();
    try {
      const all = waysOut({
        ...{ tlsKey: cloudKey, cloudKey, socket: "/nowhere", dataDir: rig.dataDir },
        ...{ pid: Deno.pid, port: other.port, address: "127.0.0.1" },
        ...{ program: new URL(import.meta.url).pathname, home: "/" },
      });
      // Nothing that changes this host.
      const ways = Object.fromEntries(
        Object.entries(all).filter(([name]) => /^(read|list|see|reach a service)/.test(name)),
      );
      const run = await rig.start(rig.runner({}, { sandbox: plainSandbox }), tryingAll(ways));
      assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
      for (const name of ["read the cloud's TLS key", "read the cloud's master key"]) {
        assert.ok(run.has(`OUT ${name}`), run.lines.join("\n"));
      }
      assert.ok(run.has("OUT reach a service of this host"), run.lines.join("\n"));
    } finally {
      other.close();
      await Deno.remove(cloudKey);
    }
  },
});

Deno.test({
  name: "a training script reaches its cloud, and its package index by the proxy",
  ignore,
  async fn() {
    const cloud = service();
    const index = service();
    try {
      const runner = walled({}, {
        cloudUrl: () => `http://127.0.0.1:${cloud.port}`,
        inherited: {
          ...Deno.env.toObject(),
          ...{ PIP_NO_INDEX: "1", PIP_INDEX_URL: `http://127.0.0.1:${index.port}/simple` },
        },
      });
      const run = await rig.start(
        runner,
        `
import socket, urllib.request
direct = socket.create_connection(("127.0.0.1", ${cloud.port}), 5)
direct.sendall(b"GET / HTTP/1.1\\r\\n\\r\\n")
said = b""
while part := direct.recv(100): said += part
print("cloud", said[-5:])
os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
print("index", urllib.request.urlopen("http://127.0.0.1:${index.port}/simple/").read())
save()`,
      );
      assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
      assert.ok(run.has("info cloud b'hello'"), run.lines.join("\n"));
      assert.ok(run.has("info index b'hello'"), run.lines.join("\n"));
      assert.deepEqual([cloud.calls, index.calls], [1, 1]);
    } finally {
      cloud.close();
      index.close();
    }
  },
});

for (const folder of ["/dev/shm", "/tmp", "/var/tmp"]) {
  Deno.test({
    name: `what a training script writes into ${folder} counts as disk`,
    ignore,
    async fn() {
      const run = await rig.start(
        walled({ diskBytes: 8 * 2 ** 20 }),
        `
for n in range(60):
    with open("${folder}/part%d" % n, "wb") as file: file.write(os.urandom(1 << 20))
    time.sleep(0.05)
time.sleep(60)`, // long enough for who should end it
      );
      const end = await run.ended;
      assert(end.kind === "failed", run.lines.join("\n"));
      assert.equal(end.code, Code.ResourceExhausted);
      assert.match(end.reason, /more disk than this cloud allows/);
    },
  });
}

Deno.test({
  name: "without namespaces a script does not start, unless the operator allows it",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const system = systemProcesses();
    const processes = {
      ...system,
      start: (command: Parameters<typeof system.start>[0]) =>
        system.start(command.program === "unshare" ? { ...command, program: "false" } : command),
    };
    const refused = await (await rig.start(
      rig.runner({}, { processes, allowNoWalls: false }),
      "save()",
    )).ended;
    assert(refused.kind === "failed");
    assert.equal(refused.code, Code.FailedPrecondition);
    assert.match(refused.reason, /gives no namespaces .*--training-walls if-possible/);

    const allowed = await rig.start(rig.runner({}, { processes }), "save()");
    assert.deepEqual(await allowed.ended, { kind: "succeeded" }, allowed.lines.join("\n"));
    assert.ok(rig.log.messages().some((line) => line.includes("could read its keys")));
  },
});
