import assert from "node:assert/strict";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { type MemoryLogger, memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { TREE_VARIABLE } from "../../../shared/base/process/process_table.ts";
import { systemProcesses } from "../../../shared/base/process/system_processes.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { ParentServer } from "./parent_server.ts";

const ignore = Deno.build.os !== "linux";

/** Connects, says something, and prints whether anything was answered. */
const CALLER = `
const [port, said] = Deno.args;
const bytes = (text) => new TextEncoder().encode(text);
const PREFACE = bytes("PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\\0\\0\\0\\x04\\0\\0\\0\\0\\0");
const GET = bytes("GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n");
let answer = "closed";
try {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: Number(port) });
  await connection.write(said === "GET" ? GET : PREFACE);
  const read = await connection.read(new Uint8Array(100));
  if (read !== null) answer = "answered";
} catch (error) {
  if (!(error instanceof Deno.errors.ConnectionReset || error instanceof Deno.errors.BrokenPipe)) {
    answer = String(error);
  }
}
console.log("port " + port + " " + answer);
`;

interface Rig {
  readonly parent: ParentServer;
  readonly address: string;
  readonly log: MemoryLogger;
  /** What was reported to the program at the other end: "answered" or "closed". */
  run(
    script: string,
    options?: { isModule?: boolean; env?: Record<string, string> },
  ): Promise<string>;
}

async function withParent(use: (rig: Rig) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "parent-tcp-" });
  const log = memoryLogger();
  const parent = new ParentServer({
    mount: (router) => void router.service(RobotService, { resourceNames: () => ({}) }),
    log,
    temporaryFolder: folder,
  });
  try {
    await Deno.writeTextFile(`${folder}/caller.js`, CALLER);
    const address = await parent.address("m", "tcp");
    const port = address.split(":")[1]!;
    const caller = `'${Deno.execPath()}' run -A --quiet '${folder}/caller.js' ${port}`;
    const run: Rig["run"] = async (script, { isModule = true, env = {} } = {}) => {
      const answer = Promise.withResolvers<string>();
      const admission = parent.admission("m", "tcp");
      const child = systemProcesses().start({
        program: "/bin/sh",
        args: ["-c", script.replace("CALL", caller)],
        env: { PATH: Deno.env.get("PATH") ?? "", ...isModule && admission.variables, ...env },
        onLine: (_, line) => {
          const told = /^port \d+ (.*)$/.exec(line)?.[1];
          if (told !== undefined) answer.resolve(told);
        },
      });
      const close = isModule ? admission.open(child.mark.pid) : () => {};
      void child.exited.then(() => answer.resolve("it ended without a word"));
      try {
        return await answer.promise;
      } finally {
        await child.kill();
        close();
      }
    };
    await use({ parent, address, log, run });
  } finally {
    await parent.close();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "a parent server over TCP answers the module's processes, wherever they moved to",
  ignore,
  fn: () =>
    withParent(async ({ run }) => {
      assert.equal(await run("exec CALL"), "answered");
      assert.equal(await run("CALL; exit"), "answered");
      assert.equal(await run("(setsid CALL &); sleep 60"), "answered");
    }),
});

Deno.test({
  name: "a parent server over TCP closes what is no module's before it says a word",
  ignore,
  fn: () =>
    withParent(async ({ run, address, log }) => {
      const mine = { isModule: false };
      assert.equal(await run("exec CALL", mine), "closed");
      // What can be guessed or read by others opens nothing.
      const forged = { [TREE_VARIABLE]: "m", MACHINE_MODULE_NAME: "m" };
      assert.equal(await run("exec CALL", { ...mine, env: forged }), "closed");
      const transport = createGrpcTransport({ baseUrl: `http://${address}` });
      try {
        const robot = createClient(RobotService, transport);
        await assert.rejects(() => robot.resourceNames({}, { timeoutMs: 2_000 }));
      } finally {
        transport.close();
      }
      assert.equal(
        (await fetch(`http://${address}/`).then(() => "", String)).includes("rror"),
        true,
      );
      assert.match(log.messages("warn").join(), /module m was refused/);
    }),
});

Deno.test({
  name: "a parent server over TCP speaks no HTTP/1.1, not even with the module",
  ignore,
  fn: () =>
    withParent(async ({ run }) => {
      assert.equal(await run("exec CALL GET"), "closed");
    }),
});

Deno.test({
  name: "a run that ended lets nobody in any more, also not with its secret",
  ignore,
  fn: () =>
    withParent(async ({ run, parent }) => {
      const past = parent.admission("m", "tcp");
      past.open(2 ** 22 + 1)();
      assert.equal(await run("exec CALL", { isModule: false, env: past.variables }), "closed");
    }),
});

Deno.test("a parent server over TCP refuses web pages, also through the module itself", async () => {
  const parent = new ParentServer({
    mount: (router) => void router.service(RobotService, { resourceNames: () => ({}) }),
    log: memoryLogger(),
    peers: () => Promise.resolve({ isOf: () => true }),
  });
  const transport = createGrpcTransport({ baseUrl: `http://${await parent.address("m", "tcp")}` });
  const close = parent.admission("m", "tcp").open(Deno.pid);
  try {
    const robot = createClient(RobotService, transport);
    await robot.resourceNames({});
    const headers = { origin: "http://localhost" };
    await assert.rejects(
      () => robot.resourceNames({}, { headers }),
      (error: unknown) => ConnectError.from(error).code === Code.PermissionDenied,
    );
  } finally {
    transport.close();
    close();
    await parent.close();
  }
});

Deno.test("a parent server over TCP is not opened where nothing tells whose a connection is", async () => {
  const parent = new ParentServer({
    mount: () => {},
    log: memoryLogger(),
    peers: () => Promise.resolve(undefined),
  });
  await assert.rejects(() => parent.address("m", "tcp"), /unix sockets/);
  await parent.close();
});
