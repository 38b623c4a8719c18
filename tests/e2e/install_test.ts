// install.sh and uninstall.sh against a real cloud, into a made-up file system, and against a cloud
// that lies. The program they install runs from the sources.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "../../agent/service/run_program.ts";
import { ignoreBecause, ignoreWithout } from "../../shared/test_tools/skips.ts";
import type { ToolName } from "../../shared/test_tools/tools.ts";
import { Rig } from "./rig.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TESTDATA = join(ROOT, "shared", "rpc", "testdata");
const UNIT = "usr/local/lib/systemd/system/machine-agent.service";
const PLATFORM = Deno.build.arch === "aarch64" ? "linux/arm64" : "linux/amd64";

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A file system to install into, and the tools of a computer that has systemd. */
class Computer implements AsyncDisposable {
  private constructor(readonly dir: string) {}

  static async create(): Promise<Computer> {
    const computer = new Computer(await Deno.makeTempDir({ prefix: "install " }));
    await Deno.mkdir(join(computer.dir, "tools"));
    await Deno.mkdir(join(computer.dir, "tmp"));
    await computer.tool("systemctl", `printf '%s\\n' "$*" >>"${computer.path("calls")}"\n`);
    await computer.tool("systemd-path", `echo "/etc/systemd/system:/${dirname(UNIT)}"\n`);
    return computer;
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  /** A path of the installed system. */
  root(name: string): string {
    return join(this.dir, "root", name);
  }

  async tool(name: string, script: string): Promise<void> {
    await Deno.writeTextFile(this.path(`tools/${name}`), `#!/bin/sh\n${script}`, { mode: 0o755 });
  }

  async run(
    script: "install.sh" | "uninstall.sh",
    env: Record<string, string> = {},
    args: string[] = [],
  ): Promise<Ran> {
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: [join(ROOT, "install", script), ...args],
      env: {
        PATH: `${this.path("tools")}:${Deno.env.get("PATH")}`,
        TMPDIR: this.path("tmp"),
        MACHINE_INSTALL_ROOT: this.path("root"),
        ...env,
      },
      stdin: "null",
      signal: AbortSignal.timeout(120_000),
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    const left = [...Deno.readDirSync(this.path("tmp"))].map(({ name }) => name);
    assert.deepEqual(left, [], "nothing is left in the temporary folder");
    return { code, stdout: text(stdout), stderr: text(stderr) };
  }

  async calls(): Promise<string> {
    return await Deno.readTextFile(this.path("calls")).catch(() => "");
  }

  async exists(name: string): Promise<boolean> {
    return await Deno.lstat(this.root(name)).then(() => true, () => false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.dir, { recursive: true });
  }
}

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

function test(
  name: string,
  body: (computer: Computer) => Promise<void>,
  tools: readonly ToolName[] = [],
): void {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux" || ignoreWithout(import.meta.url, "curl", ...tools),
    fn: async () => {
      await using computer = await Computer.create();
      await body(computer);
    },
  });
}

test("install.sh fetches credentials and the agent from the cloud, and upgrades", async (computer) => {
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
  // Without a key: the credentials that are there tell the address.
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
});

test(
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
    const pem = await (await fetch(`${rig.cloudUrl}/releases/key.pem`)).text();
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

/** A cloud that answers what the test says. */
async function withLyingCloud(
  answers: (path: string) => string | undefined,
  body: (url: string) => Promise<void>,
): Promise<void> {
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      const answer = answers(new URL(request.url).pathname);
      return answer === undefined ? new Response("", { status: 404 }) : new Response(answer);
    },
  );
  await body(`http://127.0.0.1:${server.addr.port}`);
}

const PROGRAM = "#!/bin/sh\nexit 0\n";
const BROKEN = "#!/bin/sh\nexit 9\n";
const SHA256 = await sha256Of(PROGRAM);

async function sha256Of(text: string): Promise<string> {
  return new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)),
  ).toHex();
}

function manifest(change: Record<string, string> = {}): string {
  const facts = {
    binary: "machine-agent",
    version: "1.0.0",
    platform: PLATFORM,
    size: `${PROGRAM.length}`,
    sha256: SHA256,
    ...change,
  };
  const lines = Object.entries(facts).map(([name, value]) => `${name} ${value}`);
  return ["machine release 1", ...lines, ""].join("\n");
}

interface Lie {
  readonly name: string;
  readonly manifest: string | undefined;
  readonly program: string | undefined;
  readonly says: RegExp;
}

const LIES: readonly Lie[] = [
  { name: "has no release", manifest: undefined, program: PROGRAM, says: /has no release stable/ },
  {
    name: "has no file",
    manifest: manifest(),
    program: undefined,
    says: /could not be downloaded/,
  },
  {
    name: "sends another file",
    manifest: manifest(),
    program: PROGRAM.replace("0", "1"),
    says: /is not the release \(SHA-256\)/,
  },
  {
    name: "cuts the file",
    manifest: manifest(),
    program: PROGRAM.slice(0, 5),
    says: /not as long as the release/,
  },
  {
    name: "names another platform",
    manifest: manifest({ platform: "windows/amd64" }),
    program: PROGRAM,
    says: /does not describe machine-agent for linux/,
  },
  {
    name: "names another program",
    manifest: manifest({ binary: "machine-server" }),
    program: PROGRAM,
    says: /does not describe machine-agent/,
  },
  {
    name: "sends a page in place of the manifest",
    manifest: "<html>sign in</html>",
    program: PROGRAM,
    says: /does not describe machine-agent/,
  },
  {
    name: "names a version that leads elsewhere",
    manifest: manifest({ version: "../../x" }),
    program: PROGRAM,
    says: /a version that is none/,
  },
  {
    name: "sends a program that does not run",
    manifest: manifest({ sha256: await sha256Of(BROKEN) }),
    program: BROKEN,
    says: /does not run here/,
  },
];

for (const { name, manifest, program, says } of LIES) {
  test(`install.sh changes nothing when the cloud ${name}`, async (computer) => {
    await Deno.mkdir(computer.root("etc"), { recursive: true });
    await Deno.writeTextFile(computer.root("etc/machine.json"), "{}", { mode: 0o600 });
    const answers = (path: string) => path.endsWith(".manifest") ? manifest : program;
    await withLyingCloud(answers, async (url) => {
      const { code, stderr } = await computer.run("install.sh", { MACHINE_CLOUD_ADDRESS: url });
      assert.equal(code, 1);
      assert.match(stderr, says);
      assert.equal(await computer.exists("opt"), false);
    });
  });
}

test("install.sh takes no credentials that are none", async (computer) => {
  const env = { MACHINE_API_KEY_ID: "a", MACHINE_API_KEY: "b", MACHINE_PART_ID: "part-1" };
  await withLyingCloud(() => '{"cloud":{"id":"part-2"}}', async (url) => {
    const { code, stderr } = await computer.run("install.sh", {
      ...env,
      MACHINE_CLOUD_ADDRESS: url,
    });
    assert.equal(code, 1);
    assert.match(stderr, /is no credentials file/);
    assert.equal(await computer.exists("etc"), false);
  });
});

/** A folder of `PATH` with everything of this computer but one program. */
async function everythingBut(computer: Computer, program: string): Promise<string> {
  for (const folder of ["/usr/bin", "/bin"]) {
    for await (const { name } of Deno.readDir(folder)) {
      if (name === program || name === "systemctl") continue;
      await Deno.symlink(join(folder, name), computer.path(`tools/${name}`)).catch(() => {});
    }
  }
  return computer.path("tools");
}

/** A cloud with TLS whose answer leads elsewhere, and what was asked for without TLS. */
class LeadingCloud implements AsyncDisposable {
  readonly asked: string[] = [];
  readonly #open = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => {
      this.asked.push(new URL(request.url).pathname);
      return LeadingCloud.#answer(request);
    },
  );
  readonly #safe: Deno.HttpServer<Deno.NetAddr>;

  /** @param isSafe whether it leads to the exact version beside it, or to http. */
  constructor(isSafe: boolean) {
    const read = (name: string) => Deno.readTextFileSync(join(TESTDATA, name));
    const tls = { cert: read("cert.pem"), key: read("key.pem") };
    this.#safe = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls },
      (request) => {
        const { pathname } = new URL(request.url);
        const exact = pathname.replace("/stable/", "/1.0.0/");
        if (isSafe && exact === pathname) return LeadingCloud.#answer(request);
        const location = isSafe ? exact : `http://127.0.0.1:${this.#open.addr.port}${exact}`;
        return new Response(null, { status: 302, headers: { location } });
      },
    );
  }

  get url(): string {
    return `https://localhost:${this.#safe.addr.port}`;
  }

  static #answer({ url }: Request): Response {
    return new Response(url.endsWith(".manifest") ? manifest() : PROGRAM);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#open.shutdown(), this.#safe.shutdown()]);
  }
}

const WITHOUT = { curl: "wget", wget: "curl" } as const;

for (const program of ["curl", "wget"] as const) {
  for (const isSafe of [true, false]) {
    const what = isSafe ? "follows redirects" : "follows no redirect from https to http";
    test(`install.sh with ${program} ${what}`, async (computer) => {
      await using cloud = new LeadingCloud(isSafe);
      const ca = join(TESTDATA, "ca.pem");
      await Deno.writeTextFile(computer.path("wgetrc"), `ca_certificate = ${ca}\n`);
      await Deno.mkdir(computer.root("etc"), { recursive: true });
      await Deno.writeTextFile(computer.root("etc/machine.json"), "{}", { mode: 0o600 });
      const { code, stderr } = await computer.run("install.sh", {
        PATH: await everythingBut(computer, WITHOUT[program]),
        CURL_CA_BUNDLE: ca,
        WGETRC: computer.path("wgetrc"),
        MACHINE_CLOUD_ADDRESS: cloud.url,
      });
      assert.deepEqual(cloud.asked, [], "nothing is asked for without TLS");
      assert.equal(code, isSafe ? 0 : 1, stderr);
      if (!isSafe) assert.match(stderr, /has no release stable/);
    }, [program]);
  }
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
  test(`install.sh refuses ${JSON.stringify(env)}`, async (computer) => {
    const { code, stderr } = await computer.run("install.sh", env);
    assert.equal(code, 1);
    assert.match(stderr, says);
    assert.equal(await computer.exists(""), false);
  });
}

test("uninstall.sh says when there is nothing to remove", async (computer) => {
  const { code, stderr } = await computer.run("uninstall.sh");
  assert.equal(code, 1);
  assert.match(stderr, /there is no machine-agent in .*opt\/machine/);
  const wrong = await computer.run("uninstall.sh", {}, ["--all"]);
  assert.match(wrong.stderr, /unknown option --all/);
});

const noPwsh = ignoreBecause(
  import.meta.url,
  (await runProgram("pwsh", ["-Version"])).code === 0 ? undefined : "no PowerShell (pwsh) here",
);

for (const name of ["install.ps1", "uninstall.ps1"]) {
  Deno.test({
    name: `${name} is sound PowerShell`,
    ignore: noPwsh,
    fn: async () => {
      const script = "$errors = $null; " +
        "$null = [System.Management.Automation.Language.Parser]::ParseFile(" +
        `'${join(ROOT, "install", name)}', [ref] $null, [ref] $errors); ` +
        "$errors; exit $errors.Count";
      const { code, stdout } = await new Deno.Command("pwsh", {
        args: ["-NoProfile", "-Command", script],
      }).output();
      assert.equal(code, 0, new TextDecoder().decode(stdout));
    },
  });
}
