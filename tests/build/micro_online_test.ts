// The compiled machine-micro-server at a real cloud. Compiling takes minutes, so `make smoke` runs it.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { buildMicro } from "../../tools/micro/build.ts";
import { noSourcesBecause } from "../../tools/micro/sources.ts";
import { ownTarget } from "../../tools/micro/targets.ts";
import { findZig } from "../../tools/micro/zig.ts";
import { ROOT } from "../../tools/programs.ts";
import { runTypescriptSdk } from "../compat/typescript_sdk.ts";
import { Program } from "../e2e/program.ts";
import { noNamesBecause, withName } from "../e2e/named_hosts.ts";
import { ensurePythonSdk, runPython } from "../e2e/python_sdk.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import { startTlsCloud } from "../e2e/tls_cloud.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";

const DEADLINE_MS = 180_000;
/** Resident, idle; the goal of the program. */
const MOST_MEMORY_KIB = 6 * 1024;
const MOST_BYTES = 4e6;

const ignore = ignoreBecause(import.meta.url, await noSourcesBecause());
const cannotName = ignoreBecause(import.meta.url, await noNamesBecause());
const file = ignore ? "" : await build();

async function build(): Promise<string> {
  const options = { root: ROOT, zig: await findZig(ROOT), version: "1.2.3", commit: "0123456" };
  return (await buildMicro(ownTarget(), options)).file;
}

function startMicro(
  rig: Rig,
  args: readonly string[] = [],
  env: Record<string, string> = {},
  command = file,
) {
  const micro = Program.start({
    name: "machine-micro-server",
    command,
    args: [
      ...["-config", rig.credentialsFile, "-state", join(rig.dir, "micro")],
      ...(args.includes("-listen") ? [] : ["-listen", "127.0.0.1:0"]),
      ...args,
    ],
    env,
  });
  rig.programs.push(micro);
  return micro;
}

async function assertSmall(micro: Program, how: string): Promise<void> {
  const status = await Deno.readTextFile(`/proc/${micro.pid}/status`);
  const memory = Number(status.match(/VmRSS:\s+(\d+) kB/)?.[1]);
  process.stdout.write(`machine-micro-server takes ${memory} KiB ${how}\n`);
  assert.ok(memory > 0 && memory < MOST_MEMORY_KIB, `${memory} KiB`);
}

const sensor = (name: string, attributes = {}) => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
  attributes,
});

const WHEEL = { name: "wheel", api: "rdk:component:motor", model: "rdk:builtin:fake" };
const CONFIG = { components: [sensor("fake"), WHEEL] };

Deno.test({
  name: "machine-micro-server is small enough and tells its version",
  ignore,
  fn: async () => {
    assert.ok((await Deno.stat(file)).size <= MOST_BYTES);
    const { code, stdout } = await new Deno.Command(file, { args: ["-version"] }).output();
    const said = new TextDecoder().decode(stdout);
    assert.deepEqual([code, said], [0, "machine-micro-server 1.2.3 (commit 0123456)\n"]);
  },
});

rigTest("machine-micro-server comes online, takes a change and ends when told to", async (rig) => {
  await rig.startCloud();
  await rig.saveConfig({ components: [sensor("one")] });
  const micro = startMicro(rig);
  await eventually("online with one sensor", async () => {
    const { online, status } = await rig.liveStatus();
    return online &&
      status?.resources.some(({ name, state }) => name?.name === "one" && state === 3);
  });
  await rig.saveConfig({ components: [sensor("one", { readings: { t: 21.5 } }), sensor("two")] });
  await eventually("a reading of the change", async () => {
    const { readings } = await rig.liveStatus();
    const one = readings.find(({ name }) => name === "one");
    return one?.readings && "t" in one.readings;
  });
  await eventually("log lines", async () => (await rig.logs("machine-micro-server 1.2.3")).length);
  await assertSmall(micro, "without TLS");
  micro.signal("SIGTERM");
  assert.equal((await micro.exited).code, 0);
}, { ignore });

rigTest("a project of machine micro new is built, comes online and is read", async (rig) => {
  await rig.startCloud();
  const project = join(rig.dir, "water-meter");
  const made = await rig.run("machine", ["micro", "new", project, "--sources", ROOT]);
  assert.equal(made.code, 0, made.stderr);
  const make = new Deno.Command("make", { cwd: project, stdin: "null" });
  const { code, stderr } = await make.output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  const { components } = JSON.parse(await Deno.readTextFile(join(project, "config.json"))) as {
    components: JsonObject[];
  };
  await rig.saveConfig({ components });
  startMicro(rig, [], {}, join(project, "dist", `water-meter-${ownTarget().name}`));
  await eventually("pulses", async () => {
    const { readings } = await rig.liveStatus();
    const total = readings.find(({ name }) => name === "meter")?.readings?.["total"];
    return typeof total === "number" && total >= 1;
  });
  await eventually("its version", async () => (await rig.logs("micro-server 0.1.0")).length > 0);
}, { ignore });

rigTest(
  "a program updates itself from the cloud, and goes back from a broken image",
  async (rig) => {
    await rig.startCloud();
    const project = join(rig.dir, "meter");
    const { api_key_id: id, api_key: key } = rig.bootstrapped;
    const env = { MACHINE_CLOUD_API_KEY_ID: id, MACHINE_CLOUD_API_KEY: key };
    const machine = async (...args: string[]) => {
      const { code, stdout, stderr } = await rig.run("machine", args, env);
      assert.equal(code, 0, stderr);
      return stdout;
    };
    await machine("micro", "new", project, "--sources", ROOT);
    const pair = generateKeyPairSync("ed25519");
    const secret = pair.privateKey.export({ type: "pkcs8", format: "pem" });
    const known = pair.publicKey.export({ type: "spki", format: "pem" });
    await Deno.writeTextFile(join(project, "update-key.pem"), String(secret));
    await Deno.writeTextFile(join(project, "update-key.pub"), String(known));
    const image = join(project, "dist", `meter-${ownTarget().name}`);
    const build = async (version: string) => {
      const manifest = join(project, "deno.json");
      const text = await Deno.readTextFile(manifest);
      await Deno.writeTextFile(
        manifest,
        text.replace(/"version": "[^"]*"/, `"version": "${version}"`),
      );
      const make = new Deno.Command("make", {
        ...{ args: ["KEY=update-key.pem"], cwd: project, stdin: "null" },
      });
      const { code, stderr } = await make.output();
      assert.equal(code, 0, new TextDecoder().decode(stderr));
    };
    const publish = async (version: string) => {
      await build(version);
      return JSON.parse(await machine("micro", "publish", image, "--cloud", rig.cloudUrl)) as {
        attributes: JsonObject;
      } & JsonObject;
    };
    const components = [sensor("one")];

    await build("0.1.0");
    const installed = join(rig.dir, "installed");
    await Deno.copyFile(image, installed);
    const micro = startMicro(rig, [], {}, installed);
    await micro.waitForLine(/applied revision/, DEADLINE_MS);
    const good = await publish("0.2.0");
    const forged = { ...good, attributes: { ...good.attributes, version: "0.2.1" } };
    await rig.saveConfig({ components, services: [forged] });
    await micro.waitForLine(/signature is not of the key/, DEADLINE_MS);
    await rig.saveConfig({ components, services: [good] });
    await micro.waitForLine(/0\.2\.0 is confirmed/, DEADLINE_MS);
    await eventually("its version", async () => (await rig.logs("micro-server 0.2.0")).length > 0);

    const program = join(project, "program.ts");
    const text = await Deno.readTextFile(program);
    await Deno.writeTextFile(program, `${text}\nthrow new Error("it is broken");\n`);
    const broken = await publish("0.3.0");
    await rig.saveConfig({ components, services: [broken] });
    await micro.exited;
    assert.ok(micro.lines.some((line) => line.includes("it is broken")), "0.3.0 did not run");
    const again = startMicro(rig, [], {}, installed);
    await again.waitForLine(/0\.3\.0 was tried and rolled back/, DEADLINE_MS);
    await again.waitForLine(/machine-micro-server 0\.2\.0/, DEADLINE_MS);
    await eventually("online", async () => (await rig.liveStatus()).online);
  },
  { ignore },
);

rigTest("the published SDKs read a compiled machine-micro-server", async (rig) => {
  await rig.startCloud();
  await rig.saveConfig(CONFIG);
  const port = freePort();
  const micro = startMicro(rig, ["-listen", `127.0.0.1:${port}`]);
  await micro.waitForLine(/applied revision/, DEADLINE_MS);
  const { api_key_id: id, api_key: key } = rig.bootstrapped;
  const script = new URL("../compat/micro_tour.py", import.meta.url);
  const { stdout } = await runPython(script, [`127.0.0.1:${port}`, id, key]);
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  const found = {
    resources: ["fake", "wheel"],
    fake: { a: 1, b: 2, c: 3 },
    position: 2,
    version: "1.2.3",
  };
  assert.deepEqual(JSON.parse(last), {
    ...{ ...found, echo: 9000 },
    // What its session moved is stopped when it has gone.
    ...{ moves: true, stopped: true },
  });
  const web = await runTypescriptSdk("micro_tour.mjs", [`http://localhost:${port}`, id, key]);
  // One wheel, turned by both.
  assert.deepEqual(web, { ...found, position: 4 });
  const { fqdn } = rig.bootstrapped;
  const relayed = await runTypescriptSdk("micro_tour.mjs", [fqdn, id, key, rig.cloudUrl]);
  assert.deepEqual(relayed, { ...found, position: 6 });
  micro.signal("SIGKILL");
  await micro.exited;
  startMicro(rig);
  const back = await eventually(
    "calls through the cloud after a kill",
    () => runTypescriptSdk("micro_tour.mjs", [fqdn, id, key, rig.cloudUrl]),
  );
  assert.deepEqual(back, found);
}, { ignore });

rigTest("machine-micro-server speaks TLS with a cloud, but with no impostor", async (rig) => {
  const { rootsFile: roots } = await startTlsCloud(rig, CONFIG);
  const stranger = startMicro(rig, ["-debug"]);
  await stranger.waitForLine(
    /certificate of localhost is refused|no list of certificate/,
    DEADLINE_MS,
  );
  await stranger.stop(DEADLINE_MS);
  const micro = startMicro(rig, ["-ca-file", roots]);
  await micro.waitForLine(/applied revision/, DEADLINE_MS);
  await assertSmall(micro, "with TLS and the system's authorities");
}, { ignore });

rigTest(
  "the port of machine-micro-server has TLS with the certificate of its cloud",
  async (rig) => {
    const { rootsFile: roots } = await startTlsCloud(rig, CONFIG);
    const port = freePort();
    const { fqdn, api_key_id: id, api_key: key } = rig.bootstrapped;
    const micro = startMicro(rig, ["-ca-file", roots, "-listen", `0.0.0.0:${port}`]);
    await micro.waitForLine(/opens when the cloud has issued a certificate/, DEADLINE_MS);
    await micro.waitForLine(new RegExp(`port ${port} with TLS`), DEADLINE_MS);
    await micro.waitForLine(/applied revision/, DEADLINE_MS);
    const cloudRoots = Deno.createHttpClient({ caCerts: [await Deno.readTextFile(roots)] });
    const caFile = join(rig.dir, "machines.pem");
    const ca = await fetch(`https://localhost:${rig.cloudPort}/ca.pem`, { client: cloudRoots });
    await Deno.writeTextFile(caFile, await ca.text());
    cloudRoots.close();

    const read = async (address: string, ...trust: string[]) => {
      const curl = new Deno.Command("curl", {
        args: [
          ...["--silent", "--show-error", "--max-time", "120", ...trust],
          ...["--connect-to", `::127.0.0.1:${port}`, `${address}/`],
        ],
      });
      const { code, stdout, stderr } = await curl.output();
      return { code, text: new TextDecoder().decode(code === 0 ? stdout : stderr) };
    };
    const found = await read(`https://${fqdn}`, "--cacert", caFile);
    assert.match(found.text, /^machine-micro-server 1\.2\.3/);
    for (
      const refused of [
        await read(`http://${fqdn}`),
        await read("https://elsewhere.example.com", "--cacert", caFile),
        await read(`https://${fqdn}`, "--cacert", roots),
      ]
    ) assert.notEqual(refused.code, 0, refused.text);

    // Native gRPC: HTTP/2 by ALPN.
    if (!cannotName) {
      const script = fileURLToPath(new URL("../compat/micro_tour.py", import.meta.url));
      const python = await ensurePythonSdk();
      const args = [script, `${fqdn}:${port}`, id, key, "tls"];
      const program = Program.start({
        name: "micro_tour.py",
        ...await withName(rig.dir, fqdn, python, args),
        env: { PYTHONDONTWRITEBYTECODE: "1", SSL_CERT_FILE: caFile },
      });
      rig.programs.push(program);
      const [line] = await program.waitForLine(/^\{"resources".*/, DEADLINE_MS);
      assert.match(line, /"resources": \["fake", "wheel"\]/);
    }

    // Who begins TLS and says no more keeps nobody out.
    const silent = await Promise.all(
      Array.from({ length: 20 }, () => Deno.connect({ hostname: "127.0.0.1", port })),
    );
    await eventually(
      "an answer next to silent peers",
      async () => (await read(`https://${fqdn}`, "--cacert", caFile)).code === 0,
    );
    for (const one of silent) one.close();
    await assertSmall(micro, "with TLS both ways");
    const open = [];
    for (let n = 0; n < 6; n++) {
      const plain = await Deno.connect({ hostname: "127.0.0.1", port });
      const caCerts = [await Deno.readTextFile(caFile)];
      const tls = await Deno.startTls(plain, { hostname: fqdn, caCerts });
      await tls.handshake();
      await tls.write(new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"));
      assert.ok(await tls.read(new Uint8Array(1000)));
      open.push(tls);
    }
    await assertSmall(micro, "with six connections by TLS");
    for (const one of open) one.close();

    // It is kept: the port is open before the cloud is reached.
    await micro.stop(DEADLINE_MS);
    const again = startMicro(rig, ["-listen", `0.0.0.0:${port}`], { SSL_CERT_FILE: "/dev/null" });
    await again.waitForLine(new RegExp(`port ${port} with TLS`), DEADLINE_MS);
    assert.equal((await read(`https://${fqdn}`, "--cacert", caFile)).code, 0);
    await again.stop(DEADLINE_MS);
    const plain = startMicro(rig, ["-no-tls", "-ca-file", roots, "-listen", `0.0.0.0:${port}`]);
    await plain.waitForLine(/applied revision/, DEADLINE_MS);
    assert.equal((await read(`http://${fqdn}`)).code, 0);
  },
  { ignore },
);
