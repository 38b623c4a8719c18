import assert from "node:assert/strict";
import { createServer } from "node:net";
import { join } from "node:path";
import Database from "better-sqlite3";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";

/** A command line that cannot work, and what the one line about it must name. */
interface BadStart {
  program: "machine-cloud" | "machine-server" | "machine-agent";
  args: string[];
  says: RegExp[];
}

rigTest(
  "a taken port ends cloud and server with one line that names it, exit code 1",
  async (rig) => {
    await rig.bootstrap();
    const holder = createServer();
    const { promise, resolve } = Promise.withResolvers<void>();
    holder.listen({ host: "127.0.0.1", port: rig.serverPort }, () => resolve());
    await promise;
    try {
      const port = new RegExp(String(rig.serverPort));
      await assertRefused(rig, {
        program: "machine-cloud",
        args: [
          ...["serve", "--listen", `127.0.0.1:${rig.serverPort}`],
          ...["--data", join(rig.dir, "other")],
        ],
        says: [port, /uses that port/],
      });
      const config = await writeFile(rig, "local.json", JSON.stringify(rig.defaultConfig()));
      await assertRefused(rig, {
        program: "machine-server",
        args: ["-config", config],
        says: [port, /uses that port/],
      });
    } finally {
      holder.close();
    }
  },
);

rigTest(
  "a configuration file that cannot be read ends the program with one line, exit code 1",
  async (rig) => {
    const missing = join(rig.dir, "missing.json");
    const broken = await writeFile(rig, "broken.json", '{"components": [\n  {"name": }\n]}');
    const noCloud = await writeFile(rig, "empty.json", "{}");
    const starts: BadStart[] = [
      { program: "machine-server", args: ["-config", missing], says: [/missing\.json/] },
      { program: "machine-server", args: ["-config", broken], says: [/broken\.json/, /2/] },
      { program: "machine-server", args: ["-config", rig.dir], says: [new RegExp(rig.dir)] },
      { program: "machine-agent", args: agentArgs(rig, missing), says: [/missing\.json/] },
      { program: "machine-agent", args: agentArgs(rig, broken), says: [/broken\.json/] },
      { program: "machine-agent", args: agentArgs(rig, noCloud), says: [/empty\.json/, /cloud/] },
    ];
    for (const start of starts) await assertRefused(rig, start);
  },
);

rigTest("an unknown option ends the program with exit code 2 and names it", async (rig) => {
  const starts: BadStart[] = [
    { program: "machine-server", args: ["-confg", "x"], says: [/confg/] },
    { program: "machine-agent", args: ["--confg", "x"], says: [/confg/] },
    { program: "machine-cloud", args: ["serve", "--lisen", "x"], says: [/lisen/] },
    { program: "machine-cloud", args: ["sreve"], says: [/sreve/] },
  ];
  for (const start of starts) await assertRefused(rig, start, 2);
});

rigTest(
  "a data folder that cannot be written ends the program with one line, exit code 1",
  async (rig) => {
    await rig.bootstrap();
    // Below a file nothing can be made, whoever runs the test.
    const file = await writeFile(rig, "file", "");
    const folder = join(file, "data");
    const config = await writeFile(rig, "local.json", JSON.stringify(rig.defaultConfig()));
    await assertRefused(rig, {
      program: "machine-cloud",
      args: ["serve", "--listen", `127.0.0.1:${freePort()}`, "--data", folder],
      says: [/file\/data/],
    });
    await assertRefused(
      rig,
      { program: "machine-server", args: ["-config", config], says: [/file\/data/] },
      1,
      { MACHINE_HOME: folder },
    );
    await assertRefused(rig, {
      program: "machine-agent",
      args: ["-c", rig.credentialsFile, "--dev-mode", "--dir", folder],
      says: [/file\/data/],
    });
  },
);

rigTest("the cloud leaves a database that is no database as it is, and says so", async (rig) => {
  await rig.bootstrap();
  const garbage = "this is no database, but somebody may want to look at it\n".repeat(200);
  const cloudDb = await writeFile(rig, "damaged/cloud.db", garbage);
  await assertRefused(rig, {
    program: "machine-cloud",
    args: [
      ...["serve", "--listen", `127.0.0.1:${freePort()}`],
      ...["--data", join(rig.dir, "damaged")],
    ],
    says: [/cloud\.db/],
  });
  assert.equal(await Deno.readTextFile(cloudDb), garbage);
});

rigTest(
  "a server's database that is no database is put aside, and the machine runs",
  async (rig) => {
    await rig.startCloud();
    const garbage = "this is no database, but somebody may want to look at it\n".repeat(200);
    const path = await writeFile(rig, "server/server.db", garbage);
    const server = await rig.startServer();
    assert.equal(await Deno.readTextFile(`${path}.damaged`), garbage);
    assert.match(server.tail(400), /the server's state is damaged and was moved aside/);
  },
);

rigTest(
  "an agent's database that is no database is put aside, and the machine runs",
  async (rig) => {
    await rig.startCloud();
    const garbage = "this is no database, but somebody may want to look at it\n".repeat(200);
    const path = await writeFile(rig, "agent/agent.db", garbage);
    const agent = await rig.startAgent();
    await agent.stop(10_000);
    assert.equal(await Deno.readTextFile(`${path}.damaged`), garbage);
    assert.match(agent.tail(400), /the agent's state is damaged and was moved aside/);
  },
);

rigTest("a database of a newer version is left as it is, and the program says so", async (rig) => {
  const cloud = await rig.startCloud();
  const agent = await rig.startAgent();
  await agent.stop(10_000);
  await cloud.stop(5_000);
  const starts: [string, BadStart["program"], string[]][] = [
    ["cloud/cloud.db", "machine-cloud", [
      ...["serve", "--listen", `127.0.0.1:${rig.cloudPort}`, "--data", join(rig.dir, "cloud")],
    ]],
    ["server/server.db", "machine-server", ["-config", rig.credentialsFile]],
    ["agent/agent.db", "machine-agent", agentArgs(rig, rig.credentialsFile)],
  ];
  for (const [file, program, args] of starts) {
    const path = join(rig.dir, file);
    const database = new Database(path);
    database.exec(
      "INSERT INTO schema_migrations (version, name, applied_at) VALUES (9999, 'x', 0)",
    );
    database.close();
    const before = await Deno.readFile(path);
    await assertRefused(rig, { program, args, says: [new RegExp(file), /newer/] });
    assert.deepEqual(await Deno.readFile(path), before, path);
  }
});

function agentArgs(rig: Rig, config: string): string[] {
  return ["-c", config, "--dev-mode", "--dir", join(rig.dir, "agent")];
}

async function assertRefused(
  rig: Rig,
  start: BadStart,
  code = 1,
  env: Record<string, string> = {},
): Promise<void> {
  const run = await rig.run(start.program, start.args, env);
  const output = run.stdout + run.stderr;
  const shown = `${start.program} ${start.args.join(" ")}\n${output}`;
  assert.equal(run.code, code, shown);
  for (const pattern of start.says) assert.match(output, pattern, shown);
  assert.ok(!/\n\s+at .*:\d+:\d+/.test(output), `a stack trace is no help to a user:\n${shown}`);
}

async function writeFile(rig: Rig, name: string, text: string): Promise<string> {
  const path = join(rig.dir, name);
  await Deno.mkdir(join(path, ".."), { recursive: true });
  await Deno.writeTextFile(path, text);
  return path;
}
