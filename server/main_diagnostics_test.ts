/** The program under diagnosis, as its users start it: what it captures, prints and serves. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { EchoService } from "../shared/gen/proto/rpc/examples/echo/v1/echo_pb.ts";
import { RobotService } from "../shared/gen/viam/robot/v1/robot_pb.ts";
import { createGrpcTransport } from "../shared/rpc/client/grpc_transport.ts";
import { waitFor } from "../shared/base/time/wait_for.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

Deno.test("machine-server captures, traces, prints and serves diagnostics", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-diagnosed-" });
  const config = join(folder, "config.json");
  await Deno.writeTextFile(
    config,
    JSON.stringify({
      components: [
        { name: "base", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
        {
          ...{ name: "top", api: "rdk:component:generic", model: "rdk:builtin:fake" },
          depends_on: ["base"],
        },
      ],
      network: { bind_address: "127.0.0.1:0" },
      tracing: { enabled: true, disk: true },
    }),
  );
  await Deno.mkdir(join(folder, "assets"));
  await Deno.writeTextFile(join(folder, "assets", "a.txt"), "an asset");
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", MAIN, "-config", config, "-webprofile", "-output-telemetry"],
      "-debug",
      ...["-shareddir", join(folder, "assets"), "-log-file", join(folder, "log")],
    ],
    env: { MACHINE_HOME: join(folder, "home") },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const ended = child.output();
  let transport: ReturnType<typeof createGrpcTransport> | undefined;
  try {
    const ready = async () =>
      /"url":"([^"]+)"/.exec(await Deno.readTextFile(join(folder, "log")))?.[1];
    const baseUrl = await waitFor(ready, { deadlineMs: 60_000, what: "the ready line" });
    transport = createGrpcTransport({ baseUrl });
    const get = async (path: string) => await (await fetch(`${baseUrl}${path}`)).text();
    await waitFor(async () => (await get("/debug/graph")).includes('component:generic/top" ['), {
      deadlineMs: 60_000,
      what: "the resources in the graph",
    });
    assert.match(await get("/debug/graph"), /generic\/top" -> "rdk:component:sensor\/base"/);
    assert.match(await get("/debug/graph?format=svg"), /^<svg/);
    assert.match(await get("/debug/pprof/"), /CPU profile/);
    assert.equal(await get("/static/a.txt"), "an asset");
    assert.equal(await get("/static/b.txt"), "not found\n");
    await createClient(RobotService, transport).getVersion({});
    const { message } = await createClient(EchoService, transport).echo({ message: "hello" });
    assert.equal(message, "hello");
  } finally {
    transport?.close();
    child.kill("SIGTERM");
  }
  const { code, stdout } = await ended;
  try {
    assert.equal(code, 0);
    const printed = new TextDecoder().decode(stdout);
    assert.match(printed, /^span viam\.robot\.v1\.RobotService\/GetVersion [\d.]+ ms OK trace=/m);
    assert.match(printed, /^metric rpc\.server\.calls\{.*rpc\.method=GetVersion,.*\} 1$/m);
    const traces = await Deno.readTextFile(join(folder, "home/traces/local-config/traces.jsonl"));
    assert.match(traces, /RobotService\/GetVersion/);
    const data = join(folder, "home/diagnostics.data/local-config");
    const [file, ...others] = await Array.fromAsync(Deno.readDir(data));
    assert.deepEqual(others, []);
    const captured = new TextDecoder().decode(await Deno.readFile(join(data, file!.name)));
    assert.match(captured, /"web\.viam\.robot\.v1\.RobotService\/GetVersion\.Count"/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
