import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../shared/base/time/wait_for.ts";

/** Bundled, as it starts in a third of the time that its sources take. */
const PROGRAM = new URL("../bin/machine-cloud", import.meta.url).pathname;

async function run(...args: string[]) {
  const command = new Deno.Command(PROGRAM, { args });
  const { code, stdout, stderr } = await command.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

async function inFolder(work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-main-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const names = ["--org", "Acme", "--location", "Lab", "--machine", "demo"];

Deno.test("machine-cloud bootstrap gives one answer when many run at once", () =>
  inFolder(async (folder) => {
    const data = join(folder, "data");
    const out = join(folder, "machine.json");
    const all = await Promise.all(
      [1, 2, 3, 4].map(() => run("bootstrap", "--data", data, ...names, "--credentials-out", out)),
    );
    for (const { code, stderr } of all) assert.equal(code, 0, stderr);
    const [first = ""] = all.map(({ stdout }) => stdout);
    assert.deepEqual(new Set(all.map(({ stdout }) => stdout)).size, 1);
    const made = JSON.parse(first);
    assert.deepEqual(Object.keys(made), [
      "org_id",
      "location_id",
      "machine_id",
      "part_id",
      "part_secret",
      "api_key_id",
      "api_key",
      "fqdn",
      "cloud_address",
    ]);
    assert.match(made.location_id, /^[a-z0-9]{10}$/);
    assert.deepEqual(JSON.parse(await Deno.readTextFile(out)), {
      cloud: { app_address: "http://127.0.0.1:8080", id: made.part_id, secret: made.part_secret },
    });
    if (Deno.build.os === "windows") return;
    for (const file of [out, join(data, "cloud.key"), join(data, "cloud.db")]) {
      assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600, file);
    }
    const stored = await Deno.readFile(join(data, "cloud.db"));
    const text = new TextDecoder("latin1").decode(stored);
    assert.ok(!text.includes(made.api_key) && !text.includes(made.part_secret));
  }));

Deno.test("machine-cloud says what is wrong and what to do", () =>
  inFolder(async (folder) => {
    const data = join(folder, "data");
    const file = join(folder, "file");
    const config = join(folder, "config.json");
    await Deno.writeTextFile(file, "x");
    await Deno.writeTextFile(config, '{"components":[{"name":"no good!","model":"fake"}]}');
    const damaged = join(folder, "damaged");
    await Deno.mkdir(damaged);
    await Deno.writeTextFile(join(damaged, "cloud.db"), "not a database, at all, really not");
    const cases: [args: string[], code: number, message: RegExp][] = [
      [["serve", "--database", "postgres://x"], 2, /--database: .* names no database/],
      [["serve", "--listen", "nowhere"], 2, /--listen: "nowhere"/],
      [["serve", "--public-url", "ftp://x"], 2, /--public-url/],
      [["serve", "--tls-cert", "x"], 2, /go together/],
      [["serve", "--nonsense"], 2, /nonsense/],
      [["bootstrap", "--data", data, "--org", "A"], 2, /location/],
      [["bootstrap", "--data", data, ...names, "--machine", "a b"], 2, /--machine: "a b"/],
      [["bootstrap", "--data", file, ...names], 1, /data folder/],
      [["bootstrap", "--data", data, ...names, "--config", config], 1, /components\[0\]\.name/],
      [["bootstrap", "--data", data, ...names, "--config", join(folder, "no")], 1, /ENOENT/],
      [["serve", "--data", damaged], 1, /cloud\.db is not a SQLite database/],
      [["nonsense"], 2, /unknown command/],
    ];
    for (const [args, code, message] of cases) {
      const result = await run(...args);
      assert.equal(result.code, code, `${args.join(" ")}: ${result.stderr}`);
      assert.match(result.stderr, message);
      assert.equal(result.stdout, "");
    }
    assert.equal(
      await Deno.readTextFile(join(damaged, "cloud.db")),
      "not a database, at all, really not",
    );
    for (
      const args of [["--help"], ["serve", "--help"], ["bootstrap", "-h"], ["-version"], [
        "version",
      ]]
    ) {
      assert.equal((await run(...args)).code, 0, args.join(" "));
    }
  }));

Deno.test("machine-cloud bootstrap tells of keys that nobody knows, and saves the configuration", () =>
  inFolder(async (folder) => {
    const config = join(folder, "config.json");
    await Deno.writeTextFile(config, '{"componets": []}');
    const made = await run("bootstrap", "--data", folder, ...names, "--config", config);
    assert.equal(made.code, 0, made.stderr);
    assert.match(
      made.stderr,
      /^machine-cloud: configuration: componets: .*did you mean components\?/,
    );
    assert.match(JSON.parse(made.stdout).part_id, /./);
  }));

Deno.test(
  "machine-cloud serve lets the owner of bootstrap in, starts clean after kill -9 and ends with 0 when told to",
  {
    ignore: Deno.build.os === "windows",
  },
  () =>
    inFolder(async (folder) => {
      const [email, password] = ["ann@example.com", "correct horse battery"];
      let hasPassword = false;
      for (const signal of ["SIGKILL", "SIGKILL", "SIGTERM"] as const) {
        const { url, end } = await startServing(folder);
        const made = await run("bootstrap", "--data", folder, ...names, "--owner", email);
        assert.equal(made.code, 0, made.stderr);
        const told = JSON.parse(made.stdout);
        assert.equal(told.cloud_address, url);
        const token = new URL(told.owner_sign_in_url).hash.slice(1);
        const byLink = await account(url, "SignInByLink", { token });
        assert.equal(byLink.signedIn.email, email);
        const link = told.owner_password_url;
        assert.equal(link === undefined, hasPassword);
        if (!hasPassword) {
          const token = new URL(link).searchParams.get("token");
          await account(url, "SetPassword", { token, password });
          hasPassword = true;
        }
        const byPassword = await account(url, "SignIn", { email, password });
        assert.equal(byPassword.signedIn.email, email);
        const { code } = await end(signal);
        if (signal === "SIGTERM") assert.equal(code, 0);
      }
    }),
);

/** Calls the cloud's AccountService, as a page does. */
async function account(url: string, method: string, body: object) {
  const response = await fetch(`${url}/machine.cloud.v1.AccountService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  assert.equal(response.status, 200, JSON.stringify(answer));
  return answer;
}

Deno.test("machine-cloud serve refuses a data folder that another one serves, and only then", () =>
  inFolder(async (folder) => {
    const first = await startServing(folder);
    const { code, stderr } = await run("serve", "--data", folder, "--listen", "127.0.0.1:0");
    assert.equal(code, 1, stderr);
    assert.ok(stderr.includes(`another "machine-cloud serve" works on ${folder}; stop that one`));
    assert.equal(stderr.trim().split("\n").length, 1);
    assert.equal((await fetch(first.url).then((page) => page.text())).includes("<html"), true);
    await first.end("SIGKILL");
    await (await startServing(folder)).end("SIGKILL");
  }));

/** Starts `serve` on a free port and waits for its ready line; `end` waits for its end too. */
async function startServing(data: string) {
  const args = ["serve", "--data", data, "--listen", "127.0.0.1:0"];
  const process = new Deno.Command(PROGRAM, { args, stdout: "piped" }).spawn();
  const output = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  await waitFor(async () => {
    text += (await output.read()).value ?? "";
    return /serving\s+\{"url":"(https?:\/\/[^"]+)"/.test(text);
  }, { deadlineMs: 60_000, what: "the ready line" });
  const end = async (signal: Deno.Signal) => {
    process.kill(signal);
    while (!(await output.read()).done);
    return await process.status;
  };
  return { url: /"url":"([^"]+)"/.exec(text)?.[1] ?? "", end };
}
