// install.sh where something is in the way: each time one line says what, and nothing is changed.
import assert from "node:assert/strict";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { Computer, installTest, PLATFORM, ROOT } from "./install_rig.ts";
import { runToEnd } from "./run_to_end.ts";

/** What is installed here: it writes down that it was started, and where it would be. */
const PROGRAM = `#!/bin/sh
case $1 in --install) mkdir -p "$3/opt/machine" && echo whole >"$3/opt/machine/installed" ;; esac
`;

async function sha256Of(text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

interface Served {
  readonly url: string;
  readonly requests: string[];
}

interface Options {
  readonly hostname?: string;
  readonly version?: string;
  /** What is answered in place of a file whose address ends so. */
  readonly instead?: Readonly<Record<string, () => Response>>;
}

/** A cloud with credentials and one release. */
async function withCloud(
  { hostname = "127.0.0.1", version = "1.1.0", instead = {} }: Options,
  body: (cloud: Served) => Promise<void>,
): Promise<void> {
  const requests: string[] = [];
  const facts = [
    ...["machine release 1", "binary machine-agent", `version ${version}`],
    ...[`platform ${PLATFORM}`, `size ${PROGRAM.length}`, `sha256 ${await sha256Of(PROGRAM)}`, ""],
  ];
  await using server = Deno.serve({ hostname, port: 0, onListen: () => {} }, (request) => {
    const { pathname } = new URL(request.url);
    requests.push(request.url);
    const other = Object.entries(instead).find(([end]) => pathname.endsWith(end));
    if (other) return other[1]();
    if (pathname.endsWith("/config")) {
      return Response.json({ cloud: { app_address: "https://cloud", id: "part-1", secret: "s" } });
    }
    return new Response(pathname.endsWith(".manifest") ? facts.join("\n") : PROGRAM);
  });
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  await body({ url: `http://${host}:${server.addr.port}`, requests });
}

const KEY = { MACHINE_API_KEY_ID: "a", MACHINE_API_KEY: "b", MACHINE_PART_ID: "part-1" };

/** Its line for people; there is no other. */
function saidOnce(stderr: string): string {
  const lines = stderr.trim().split("\n");
  assert.equal(lines.length, 1, stderr);
  assert.match(lines[0]!, /^install\.sh: /);
  return lines[0]!;
}

installTest(import.meta.url, "install.sh works over IPv6 alone", async (computer) => {
  await withCloud({ hostname: "::1" }, async ({ url }) => {
    const { code, stderr } = await computer.run("install.sh", {
      ...KEY,
      MACHINE_CLOUD_ADDRESS: url,
    });
    assert.equal(code, 0, stderr);
    assert.equal(await computer.exists("opt/machine/installed"), true);
  });
});

installTest(import.meta.url, "install.sh goes through a proxy", async (computer) => {
  await withCloud({}, async ({ url, requests }) => {
    const env = {
      ...KEY,
      MACHINE_CLOUD_ADDRESS: "http://localhost:9",
      http_proxy: url,
      no_proxy: "",
    };
    const { code, stderr } = await computer.run("install.sh", env);
    assert.equal(code, 0, stderr);
    assert.equal(requests.length, 3);
  });
});

const REFUSALS: readonly (readonly [string, number, RegExp])[] = [
  ["that has expired", 403, /machine-agent 1\.1\.0 could not be downloaded: .*403/],
  ["that is gone", 410, /machine-agent 1\.1\.0 could not be downloaded: .*410/],
];

for (const [name, status, says] of REFUSALS) {
  installTest(import.meta.url, `install.sh names a download ${name}`, async (computer) => {
    const instead = { "/machine-agent": () => new Response("expired", { status }) };
    await withCloud({ instead }, async ({ url }) => {
      const env = { ...KEY, MACHINE_CLOUD_ADDRESS: url };
      const { code, stderr } = await computer.run("install.sh", env);
      assert.equal(code, 1);
      assert.match(saidOnce(stderr), says);
      assert.equal(await computer.exists("opt"), false);
    });
  });
}

installTest(
  import.meta.url,
  "install.sh refuses an older version than it finds, unless it is requested",
  async (computer) => {
    const link = computer.root("opt/machine/bin/machine-agent");
    await Deno.mkdir(computer.root("opt/machine/bin"), { recursive: true });
    await Deno.symlink("/opt/machine/cache/machine-agent-1.2.0-rc.1-0123456789abcdef", link);
    await withCloud({}, async ({ url }) => {
      const env = { ...KEY, MACHINE_CLOUD_ADDRESS: url };
      const { code, stderr } = await computer.run("install.sh", env);
      assert.equal(code, 1);
      assert.match(saidOnce(stderr), /machine-agent 1\.2\.0-rc\.1 is here, .* older 1\.1\.0/);
      assert.equal(await computer.exists("opt/machine/installed"), false);
      const wanted = await computer.run("install.sh", { ...env, MACHINE_AGENT_VERSION: "1.1.0" });
      assert.equal(wanted.code, 0, wanted.stderr);
    });
    await withCloud({ version: "1.2.0" }, async ({ url }) => {
      const newer = await computer.run("install.sh", { ...KEY, MACHINE_CLOUD_ADDRESS: url });
      assert.equal(newer.code, 0, newer.stderr);
    });
  },
);

const LIBRARIES: readonly (readonly [Record<string, string>, RegExp])[] = [
  [{ getconf: "echo glibc 2.31" }, /this host has glibc 2\.31; .*2\.34 or newer/],
  [
    { getconf: "exit 1", ldd: "echo 'musl libc (x86_64)' >&2; exit 1" },
    /has musl in place of glibc/,
  ],
  [{ ldconfig: "echo libc.so.6" }, /libstdc\+\+\.so\.6 is missing; install/],
];

for (const [tools, says] of LIBRARIES) {
  Deno.test({
    name: `install.sh refuses a host where ${Object.entries(tools).flat().join(" is: ")}`,
    ignore: Deno.uid() !== 0 || ignoreWithout(import.meta.url, "curl"),
    fn: () => onHost(tools, {}, says),
  });
}

Deno.test({
  name: "install.sh wants root",
  ignore: Deno.uid() !== 0 || ignoreWithout(import.meta.url, "curl", "unshare"),
  fn: () => onHost({}, {}, /run it as root/, "setpriv --reuid 65534 --clear-groups"),
});

/** Runs it without a root of its own, up to what it refuses before it changes anything. */
async function onHost(
  tools: Record<string, string>,
  env: Record<string, string>,
  says: RegExp,
  prefix = "",
): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.chmod(dir, 0o755);
    for (const [name, script] of Object.entries({ ...tools, systemctl: "exit 1" })) {
      await Deno.writeTextFile(`${dir}/${name}`, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    }
    await Deno.copyFile(`${ROOT}install/install.sh`, `${dir}/install.sh`);
    await Deno.chmod(`${dir}/install.sh`, 0o644);
    const { code, stderr } = await runToEnd("sh", {
      args: ["-c", `${prefix} sh ${dir}/install.sh`],
      env: { PATH: `${dir}:${Deno.env.get("PATH")}`, ...env },
    });
    assert.equal(code, 1);
    assert.match(saidOnce(new TextDecoder().decode(stderr)), says);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** Has the temporary folder, or the folder to install into, on a file system of its own. */
async function mounted(computer: Computer, at: string, options: string): Promise<void> {
  await Deno.mkdir(at, { recursive: true });
  const mount = `mount -t tmpfs -o ${options} tmpfs "${at}" && exec "$@"`;
  await computer.tool("there", `exec unshare --mount sh -c '${mount}' sh sh "$@"\n`);
}

const FOLDERS: readonly (readonly [string, string, RegExp])[] = [
  ["tmp", "size=100k", /tmp.* has 0 MB of free space, and \d+ MB are needed; set TMPDIR/],
  ["root/opt", "size=100k", /opt has 0 MB of free space, and \d+ MB are needed; set MACHINE_DIR/],
  ["tmp", "noexec", /allows no programs \(noexec\); set TMPDIR/],
  ["root/opt", "noexec", /opt allows no programs \(noexec\); set MACHINE_DIR/],
  ["root/opt", "ro", /nothing can be written to .*opt; set MACHINE_DIR/],
];

for (const [folder, options, says] of FOLDERS) {
  Deno.test({
    name: `install.sh changes nothing where ${folder} is mounted with ${options}`,
    ignore: Deno.uid() !== 0 || ignoreWithout(import.meta.url, "curl", "unshare", "mount"),
    fn: async () => {
      await using computer = await Computer.create();
      await mounted(computer, computer.path(folder), options);
      await Deno.mkdir(computer.root("etc"), { recursive: true });
      await Deno.writeTextFile(computer.root("etc/machine.json"), "{}");
      await withCloud({}, async ({ url }) => {
        const env = { MACHINE_CLOUD_ADDRESS: url };
        const { code, stderr } = await computer.run("install.sh", env, [], { shell: "there" });
        assert.equal(code, 1, stderr);
        assert.match(saidOnce(stderr), says);
        assert.equal(await computer.exists("opt/machine"), false);
      });
    },
  });
}

installTest(
  import.meta.url,
  "install.sh killed after any step leaves nothing half done, and runs again",
  async (computer) => {
    // Each program that changes something counts; after one of them the script is killed.
    for (const name of ["curl", "mkdir", "cp", "chmod", "mv", "sync", "mktemp", "rm"]) {
      const count = `echo ${name} >>"${computer.path("steps")}"`;
      const isLast = `[ "$(wc -l <"${computer.path("steps")}")" = "$KILL_AFTER" ]`;
      await computer.tool(
        name,
        `PATH=/usr/sbin:/usr/bin:/sbin:/bin\n${name} "$@" || exit\n${count}\n` +
          `${isLast} && kill -"$KILL_SIGNAL" $PPID; exit 0\n`,
      );
    }
    await withCloud({}, async ({ url }) => {
      const env = { ...KEY, MACHINE_CLOUD_ADDRESS: url };
      const once = await computer.run("install.sh", {
        ...env,
        KILL_AFTER: "0",
        KILL_SIGNAL: "TERM",
      });
      assert.equal(once.code, 0, once.stderr);
      const steps = (await Deno.readTextFile(computer.path("steps"))).trim().split("\n").length;
      assert.ok(steps > 12, `${steps} steps`);
      for (const signal of ["TERM", "KILL"]) {
        // What a signal that can be caught leaves is looked at after some steps only.
        for (let last = 1; last <= steps; last += signal === "KILL" ? 1 : 5) {
          await Deno.remove(computer.path("root"), { recursive: true }).catch(() => {});
          await Deno.remove(computer.path("steps"));
          const killed = { ...env, KILL_AFTER: `${last}`, KILL_SIGNAL: signal };
          await computer.run("install.sh", killed, [], { isKilled: signal === "KILL" });
          const credentials = computer.root("etc/machine.json");
          const text = await Deno.readTextFile(credentials).catch(() => undefined);
          if (text !== undefined) assert.match(text, /"part-1".*\}\}$/, `after step ${last}`);
          const probes = [computer.dir, computer.root("")].flatMap((dir) => names(dir))
            .filter((name) => name.startsWith("."));
          assert.deepEqual(signal === "TERM" ? probes : [], [], `after step ${last}`);
        }
      }
      const again = await computer.run("install.sh", {
        ...env,
        KILL_AFTER: "0",
        KILL_SIGNAL: "TERM",
      });
      assert.equal(again.code, 0, again.stderr);
      assert.equal(await Deno.readTextFile(computer.root("opt/machine/installed")), "whole\n");
    });
  },
);

function names(dir: string): string[] {
  try {
    return [...Deno.readDirSync(dir)].map(({ name }) => name);
  } catch {
    return [];
  }
}
