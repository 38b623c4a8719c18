import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { programPath } from "../../tools/run/options.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import { canRunTinyPrograms, tinyProgram } from "../e2e/tiny_program.ts";
import { StockAgent } from "./stock_agent.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const options = { ignore: !canRunTinyPrograms };

/** Releases a program of these sources as a version of it. */
async function release(rig: Rig, name: "machine-server" | "machine-agent", version: string) {
  const program = programPath(name, { binaries: Deno.env.get("MACHINE_TEST_BINARIES") }, ROOT);
  const file = join(rig.dir, `${name}-${version}`);
  await Deno.writeFile(file, tinyProgram(program, version));
  const { code, stderr } = await rig.run("machine-cloud", [
    ...["release", "add", "--data", join(rig.dir, "cloud"), "--binary", name],
    ...["--version", version, "--platform", "linux/amd64", "--channel", "stable", file],
  ]);
  assert.equal(code, 0, stderr);
}

/** Turns of its loop until another server runs: while the old one is applying, it refuses to end. */
async function restarted(agent: StockAgent, what: string): Promise<void> {
  const before = agent.server?.pid;
  await eventually(`the server runs with ${what}`, async () => {
    await agent.checkUpdates();
    return agent.server?.pid !== before;
  });
}

rigTest(
  "a stock agent downloads, links, starts, supervises and updates our server",
  async (rig) => {
    const config = (env: Record<string, string>) => ({
      ...rig.defaultConfig(),
      agent: { advanced_settings: { machine_server_env: env } },
    });
    await rig.bootstrap(config({ MARK: "one" }));
    await rig.startCloud();
    await release(rig, "machine-server", "1.0.0");
    const dir = join(rig.dir, "stock");
    await using agent = await StockAgent.start(dir, rig.credentialsFile, {
      MACHINE_HOME: rig.serverHome,
    });

    await agent.checkUpdates();
    assert.match(await agent.linked("viam-server"), /cache\/machine-server$/);
    const first = agent.server?.pid;
    assert.ok(first !== undefined && !agent.server?.hasExited, "it serves, by its ready line");
    assert.match(await Deno.readTextFile(`/proc/${first}/environ`), /\0MARK=one\0/);
    assert.equal(await agent.needsRestart(), false);
    await agent.log("a line of a stock agent");
    await eventually("the cloud keeps it", async () => {
      return (await rig.logs("a line of a stock agent")).length > 0;
    });

    await agent.checkUpdates();
    assert.equal(agent.server?.pid, first, "nothing new, nothing done");

    await release(rig, "machine-server", "1.1.0");
    await restarted(agent, "the new version");
    assert.match(await agent.linked("viam-server"), /machine-server\.duplicate-001$/);

    await rig.saveConfig(config({ MARK: "two" }));
    await restarted(agent, "the new environment");
    const environment = await Deno.readTextFile(`/proc/${agent.server?.pid}/environ`);
    assert.match(environment, /\0MARK=two\0/);
    const live = await rig.liveStatus();
    assert.deepEqual(
      [live.agent?.server?.installed, live.agent?.agent?.running],
      ["1.1.0", "0.31.0"],
    );
    assert.deepEqual(agent.complaints, []);
  },
  options,
);

rigTest("a stock agent is never given our agent, which would end its service", async (rig) => {
  await rig.bootstrap();
  await rig.startCloud();
  await release(rig, "machine-agent", "1.0.0");
  const dir = join(rig.dir, "stock");
  await rig.saveConfig({ agent: { version_control: { agent: "stable" } } });
  await using agent = await StockAgent.start(dir, rig.credentialsFile);

  const answer = await agent.checkUpdates();

  assert.equal(answer.agentUpdateInfo, undefined);
  assert.deepEqual(await Array.fromAsync(Deno.readDir(join(dir, "bin"))), []);
  assert.match(agent.complaints.join("\n"), /^viam-server binary missing.*$/);
}, options);
