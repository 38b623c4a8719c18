// install.sh and uninstall.sh against a real cloud, into a made-up file system. The program they
// install runs from the sources.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { type Release, writeRelease } from "../../tools/release/download_folder.ts";
import { SigningKey } from "../../tools/release/signing_key.ts";
import { secretKeyFile } from "../../tools/release/testing.ts";
import { everythingBut, installTest, PLATFORM, ROOT, UNIT } from "./install_rig.ts";
import { Rig } from "./rig.ts";

/** A program that is the agent, in one file: a script that starts it from the sources. */
async function agentProgram(folder: string, version: string): Promise<string> {
  const path = join(folder, `machine-agent-${version}`);
  const script = `#!/bin/sh\n# ${version}\nexec "${join(ROOT, "bin", "machine-agent")}" "$@" ` +
    '--program "$0"\n';
  await Deno.writeTextFile(path, script, { mode: 0o755 });
  return path;
}

async function addRelease(rig: Rig, version: string): Promise<void> {
  const file = await agentProgram(rig.dir, version);
  const { code, stderr } = await rig.run("machine-cloud", [
    ...["release", "add", "--data", join(rig.dir, "cloud"), "--binary", "machine-agent"],
    ...["--version", version, "--platform", PLATFORM, file],
  ]);
  assert.equal(code, 0, stderr);
}

installTest(
  import.meta.url,
  "install.sh fetches credentials and the agent from the cloud, and upgrades",
  async (computer) => {
    await using rig = await Rig.create();
    await rig.startCloud();
    await addRelease(rig, "1.0.0");
    const { api_key_id, api_key, part_id, part_secret } = rig.bootstrapped;
    const key = {
      MACHINE_CLOUD_ADDRESS: rig.cloudUrl,
      MACHINE_API_KEY_ID: api_key_id,
      MACHINE_API_KEY: api_key,
      MACHINE_PART_ID: part_id,
    };

    const wrong = await computer.run("install.sh", { ...key, MACHINE_API_KEY: "wrong" });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /gave no credentials for part/);
    assert.equal(await computer.exists(""), false, "nothing was changed");

    const first = await computer.run("install.sh", key);
    assert.equal(first.code, 0, first.stderr);
    assert(!(first.stdout + first.stderr).includes(api_key));
    const credentials = computer.root("etc/machine.json");
    assert.deepEqual(JSON.parse(await Deno.readTextFile(credentials)), {
      cloud: { app_address: rig.cloudUrl, id: part_id, secret: part_secret },
    });
    assert.equal(((await Deno.stat(credentials)).mode ?? 0) & 0o777, 0o600);
    assert.match(
      await Deno.readTextFile(computer.root(UNIT)),
      /^ExecStart=\/opt\/machine\/bin\/machine-agent --config \/etc\/machine\.json /m,
    );
    assert.match(await computer.calls(), /--root=.*root enable machine-agent\.service/);
    for (const folder of ["opt/machine", "opt/machine/bin", dirname(UNIT)]) {
      const { mode } = await Deno.stat(computer.root(folder));
      assert.equal((mode ?? 0) & 0o777, 0o755, `${folder} is for everybody to look at`);
    }
    const link = computer.root("opt/machine/bin/machine-agent");
    const before = await Deno.readLink(link);
    assert.match(before, /^\/opt\/machine\/cache\/machine-agent-/);
    const installed = await Deno.readTextFile(computer.root(before.slice(1)));
    assert.match(installed, /^# 1\.0\.0$/m);

    await addRelease(rig, "1.1.0");
    // Without a key: the credentials that are there name the address.
    const second = await computer.run("install.sh");
    assert.equal(second.code, 0, second.stderr);
    const after = await Deno.readLink(link);
    assert.match(await Deno.readTextFile(computer.root(after.slice(1))), /^# 1\.1\.0$/m);
    assert.equal(await Deno.readLink(`${link}-previous`), before);

    const pinned = await computer.run("install.sh", { MACHINE_AGENT_VERSION: "1.0.0" });
    assert.equal(pinned.code, 0, pinned.stderr);
    assert.equal(await Deno.readLink(link), before);

    const removed = await computer.run("uninstall.sh");
    assert.equal(removed.code, 0, removed.stderr);
    assert.equal(await computer.exists(UNIT), false);
    assert.equal(await computer.exists("opt/machine"), false);
    assert.equal(await computer.exists("etc/machine.json"), true);
  },
);

installTest(
  import.meta.url,
  "install.sh keeps a token with which the host becomes a machine, and no credentials",
  async (computer) => {
    await using rig = await Rig.create();
    await rig.startCloud();
    await addRelease(rig, "1.0.0");
    const { code, stdout, stderr } = await computer.run("install.sh", {
      MACHINE_CLOUD_ADDRESS: rig.cloudUrl,
      MACHINE_ENROLLMENT_TOKEN: "a-token",
    });
    assert.equal(code, 0, stderr);
    assert.ok(!(stdout + stderr).includes("a-token"));
    assert.equal(await computer.exists("etc/machine.json"), false);
    const kept = computer.root("opt/machine/etc/enrollment.json");
    assert.deepEqual(JSON.parse(await Deno.readTextFile(kept)), {
      app_address: rig.cloudUrl,
      token: "a-token",
    });
    assert.equal(((await Deno.stat(kept)).mode ?? 0) & 0o777, 0o600);
    assert.ok(!(await Deno.readTextFile(computer.root(UNIT))).includes("a-token"));
  },
);

installTest(
  import.meta.url,
  "install.sh works with wget where there is no curl, and checks signatures",
  async (computer) => {
    await using rig = await Rig.create();
    await rig.startCloud();
    await addRelease(rig, "1.0.0");
    const { api_key_id, api_key, part_id } = rig.bootstrapped;
    const env = {
      PATH: await everythingBut(computer, "curl"),
      MACHINE_CLOUD_ADDRESS: rig.cloudUrl,
      MACHINE_API_KEY_ID: api_key_id,
      MACHINE_API_KEY: api_key,
      MACHINE_PART_ID: part_id,
    };
    const key = computer.path("release key.pem");
    const pem = await (await fetch(`${rig.cloudUrl}/releases/key.pem`, {
      signal: AbortSignal.timeout(60_000),
    })).text();
    await Deno.writeTextFile(key, pem);
    const signed = await computer.run("install.sh", { ...env, MACHINE_RELEASE_KEY: key });
    assert.equal(signed.code, 0, signed.stderr);
    assert.equal(await computer.exists("etc/machine.json"), true);

    // The last character of the key's bytes.
    const other = pem.replace(
      /(.)(=?\n-----END)/,
      (_, last: string, end: string) => `${last === "A" ? "E" : "A"}${end}`,
    );
    await Deno.writeTextFile(key, other);
    const foreign = await computer.run("install.sh", { ...env, MACHINE_RELEASE_KEY: key });
    assert.equal(foreign.code, 1);
    assert.match(foreign.stderr, /not signed with the key in/);
  },
  ["wget", "openssl"],
);

installTest(
  import.meta.url,
  "install.sh takes the agent from a download folder, and checks the signature of its key",
  async (computer) => {
    await using rig = await Rig.create();
    await rig.startCloud();
    const folder = join(rig.dir, "downloads");
    const release: Release = {
      ...{ version: "1.0.0", date: "2026-01-31", commit: "abc1234", notes: "New.", bill: "{}\n" },
      packages: [],
      programs: [{
        program: "machine-agent",
        platform: PLATFORM,
        file: await agentProgram(rig.dir, "1.0.0"),
      }],
    };
    await writeRelease(folder, release, SigningKey.read(secretKeyFile(), undefined), []);
    await using server = serveFolder(folder);
    const { api_key_id, api_key, part_id } = rig.bootstrapped;
    const env = {
      MACHINE_CLOUD_ADDRESS: rig.cloudUrl,
      MACHINE_DOWNLOAD_URL: `http://127.0.0.1:${server.addr.port}/`,
      MACHINE_RELEASE_KEY: join(folder, "release-key.pem"),
      MACHINE_API_KEY_ID: api_key_id,
      MACHINE_API_KEY: api_key,
      MACHINE_PART_ID: part_id,
    };
    const open = await computer.run("install.sh", {
      ...env,
      MACHINE_DOWNLOAD_URL: "http://a.example",
    });
    assert.match(open.stderr, /http:\/\/a\.example is not encrypted/);
    const signature = join(folder, "agent/1.0.0", PLATFORM, "machine-agent.sig");
    const right = await Deno.readFile(signature);
    await Deno.writeFile(signature, right.toReversed());
    const foreign = await computer.run("install.sh", env);
    assert.match(foreign.stderr, /not signed with the key in/);
    assert.equal(await computer.exists("opt/machine"), false);
    await Deno.writeFile(signature, right);
    const { code, stderr } = await computer.run("install.sh", env);
    assert.equal(code, 0, stderr);
    const link = await Deno.readLink(computer.root("opt/machine/bin/machine-agent"));
    assert.match(await Deno.readTextFile(computer.root(link.slice(1))), /^# 1\.0\.0$/m);
  },
  ["openssl"],
);

function serveFolder(folder: string) {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    try {
      return new Response((await Deno.open(join(folder, new URL(request.url).pathname))).readable);
    } catch {
      return new Response("no such file", { status: 404 });
    }
  });
}

const REFUSED: readonly (readonly [Record<string, string>, RegExp])[] = [
  [{}, /set MACHINE_CLOUD_ADDRESS/],
  [{ MACHINE_CLOUD_ADDRESS: "http://cloud.example" }, /is not encrypted/],
  [{ MACHINE_CLOUD_ADDRESS: "http://127.0.0.1.example" }, /is not encrypted/],
  [{ MACHINE_CLOUD_ADDRESS: "cloud.example" }, /must look like https/],
  [{ MACHINE_CLOUD_ADDRESS: "http://localhost" }, /there is no \/etc\/machine\.json/],
  [
    { MACHINE_CLOUD_ADDRESS: "http://localhost", MACHINE_API_KEY: "b" },
    /MACHINE_API_KEY and MACHINE_PART_ID go together/,
  ],
  [
    {
      MACHINE_CLOUD_ADDRESS: "http://localhost",
      MACHINE_API_KEY_ID: "a",
      MACHINE_API_KEY: 'b"\nurl = "file:///etc/passwd',
      MACHINE_PART_ID: "p",
    },
    /letters and digits only/,
  ],
  [
    {
      MACHINE_CLOUD_ADDRESS: "http://localhost",
      MACHINE_API_KEY_ID: "a",
      MACHINE_API_KEY: "b",
      MACHINE_PART_ID: "p&id=q",
    },
    /is no part's id/,
  ],
];

for (const [env, says] of REFUSED) {
  installTest(import.meta.url, `install.sh refuses ${JSON.stringify(env)}`, async (computer) => {
    const { code, stderr } = await computer.run("install.sh", env);
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.equal(await computer.exists(""), false);
  });
}

installTest(
  import.meta.url,
  "uninstall.sh says when there is nothing to remove",
  async (computer) => {
    const { code, stderr } = await computer.run("uninstall.sh");
    assert.equal(code, 1);
    assert.match(stderr, /there is no machine-agent in .*opt\/machine/);
    const wrong = await computer.run("uninstall.sh", {}, ["--all"]);
    assert.match(wrong.stderr, /unknown option --all/);
  },
);
