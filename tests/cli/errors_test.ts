/** What commands say that cannot do what they should: what is wrong, and what to do next. */
import assert from "node:assert/strict";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { FileError } from "../../shared/base/files/fs_error.ts";
import { IDLE_DEPS } from "../../cli/program/idle_deps.ts";
import { machineProgram } from "../../cli/program/program.ts";
import { CliRig, runMachine } from "./rig.ts";

const { tree } = machineProgram(IDLE_DEPS);

/** These need no cloud. */
const LOCAL = /^(login|logout|profiles|micro|completions|releases sync)\b/;

/** A command with something for all that it must have. */
function filled(name: string): string[] {
  const { arguments: args = [], flags } = tree[name]!;
  const given = args.filter(({ optional }) => optional !== true).map(() => "nothing-there");
  const needed = Object.entries(flags).flatMap(([flag, spec]) => {
    if (flag === "yes") return ["--yes"];
    if (!("required" in spec) || spec.required !== true) return [];
    const [choice] = "choices" in spec ? spec.choices ?? [] : [];
    return [`--${flag}`, choice ?? (spec.type === "string" ? "nothing-there" : "1")];
  });
  return [...name.split(" "), ...given, ...needed];
}

async function errorOf(run: Promise<unknown>): Promise<Error | undefined> {
  const error = await run.then(() => undefined, (reason: unknown) => reason);
  if (error === undefined) return undefined;
  assert.ok(error instanceof Error);
  return error;
}

Deno.test("every command says in one line that the cloud cannot be reached, or what is wrong before", async () => {
  const cloud = ["--cloud", "http://127.0.0.1:1", "--key-id", crypto.randomUUID(), "--key", "k"];
  const tried: string[] = [];
  for (const name of Object.keys(tree).filter((each) => !LOCAL.test(each))) {
    const error = await errorOf(runMachine([...filled(name), ...cloud]));
    assert.ok(error, `${name} did something without a cloud`);
    assert.doesNotMatch(error.message, /\n|undefined|\[object/, name);
    if (error instanceof UsageError || error instanceof FileError) continue;
    assert.match(error.message, /^cannot reach a cloud at http:\/\/127\.0\.0\.1:1 \(/, name);
    tried.push(name);
  }
  assert.ok(tried.length > 80, `${tried.length} of ${Object.keys(tree).length}`);
});

Deno.test("a secret that is shown once is not made where nothing would show it", async () => {
  await using rig = await CliRig.open();
  const before = await rig.json("keys", "list");
  const cases = [
    ["keys", "create", "tablet", "--role", "operator"],
    ["keys", "rotate", rig.made.api_key_id, "--yes"],
    ["enrollment", "create", "kiosks"],
  ];
  for (const argv of cases) {
    const error = await errorOf(rig.run([...argv, "--quiet"]));
    assert.ok(error instanceof UsageError, argv.join(" "));
    assert.match(error.message, /^--quiet prints ids only, and the (key|token) is not shown again/);
  }
  assert.deepEqual(await rig.json("keys", "list"), before);
  assert.deepEqual(await rig.json("enrollment", "tokens"), []);
});

Deno.test("what is not there is answered with the command that lists what is", async () => {
  await using rig = await CliRig.open();
  const of = ["--binary", "machine-server", "--version", "1.0.0"];
  const id = crypto.randomUUID();
  const cases: [string[], string][] = [
    [["machines", "status", "x"], "machine machines list"],
    [["config", "get", "x"], "machine machines list"],
    [["fragments", "get", "x"], "machine fragments list"],
    [["enrollment", "delete", id, "--yes"], "machine enrollment tokens"],
    [["enrollment", "approve", id], "machine enrollment list"],
    [["members", "remove", "x", "--yes"], "machine members list"],
    [["modules", "remove", "--name", "x", "--yes"], "machine modules list"],
    [["releases", "promote", ...of], "machine releases list"],
    [["releases", "remove", ...of, "--yes"], "machine releases list"],
    [["training", "logs", id], "machine training list"],
    [["training", "cancel", id], "machine training list"],
    [["secrets", "delete", id, "--yes"], "machine secrets list"],
  ];
  for (const [argv, list] of cases) {
    const error = await errorOf(rig.run(argv));
    assert.ok(error?.message.includes(`${list} shows`), `${argv.join(" ")}: ${error?.message}`);
    assert.doesNotMatch(error?.message ?? "", /\n/);
  }
  // The organisation of others is on no list of this one.
  const shared = await errorOf(rig.run(["locations", "share", "Lab", id]));
  assert.match(shared?.message ?? "", /^no organization with id "[^"]+"$/);
});

Deno.test("who may not change something is told who may, and nothing is changed", async () => {
  await using rig = await CliRig.open();
  const { id, key } = await rig.json("keys", "create", "tablet", "--role", "operator");
  const env = { MACHINE_CLOUD_API_KEY_ID: id, MACHINE_CLOUD_API_KEY: key };
  const config = await rig.write("config.json", { components: [] });
  const cloud = ["--cloud", rig.cloud.url];
  const before = await rig.json("config", "history", "demo");
  for (
    const argv of [
      ["machines", "rename", "demo", "other"],
      ["machines", "delete", "demo", "--yes"],
      ["machines", "create", "other"],
      ["machines", "restart", "demo"],
      ["config", "set", "demo", config, "--yes"],
      ["parts", "create", "demo", "arm"],
      ["parts", "credentials", "demo"],
      ["locations", "create", "Hall"],
      ["locations", "delete", "Lab", "--yes"],
      ["organizations", "rename", "Other"],
      ["members", "invite", "bob@example.com", "--role", "owner"],
      ["keys", "create", "mine", "--role", "owner"],
      ["enrollment", "create", "kiosks"],
      ["fragments", "create", "base", config],
    ]
  ) {
    const error = await errorOf(runMachine([...argv, ...cloud], { env }));
    const message = error?.message ?? "nothing";
    assert.match(
      message,
      /^[^\n]*\bowners? of\b[^\n]*$/,
      `${argv.join(" ")}: ${message}`,
    );
  }
  assert.deepEqual(await rig.json("config", "history", "demo"), before);
  assert.equal((await rig.json("machines", "list")).length, 1);
  assert.equal((await rig.json("locations", "list")).length, 1);
});

Deno.test("a cloud whose certificate nobody here trusts is no matter of the network", async () => {
  const read = (name: string) =>
    Deno.readTextFile(new URL(`../../shared/rpc/testdata/${name}`, import.meta.url));
  await using server = Deno.serve({
    ...{ hostname: "127.0.0.1", port: 0, onListen: () => {} },
    ...{ cert: await read("cert.pem"), key: await read("key.pem") },
  }, () => new Response());
  const key = ["--key-id", crypto.randomUUID(), "--key", "k"];
  const cloud = `https://localhost:${server.addr.port}`;
  const error = await errorOf(runMachine(["machines", "list", "--cloud", cloud, ...key]));
  assert.match(error?.message ?? "", /does not trust its certificate.* SSL_CERT_FILE/);
});

Deno.test("what is wrong with a list of machines is said by its rows", async () => {
  await using rig = await CliRig.open();
  const file = rig.path("machines.csv");
  const rows = Array.from({ length: 203 }, (_, at) => `m${at + 1}`);
  await Deno.writeTextFile(file, ["name", ...rows.with(200, "b@d"), ""].join("\n"));
  const error = await errorOf(rig.run(["machines", "create", "--csv", file]));
  assert.match(error?.message ?? "", /^no machine was made: row 201, name: "b@d"/);
});

Deno.test("lists that are empty say why", async () => {
  await using rig = await CliRig.open();
  const { id, key } = await rig.json("keys", "create", "tablet", "--role", "operator");
  const env = { MACHINE_CLOUD_API_KEY_ID: id, MACHINE_CLOUD_API_KEY: key };
  const list = ["secrets", "list", "--machine", "demo", "--cloud", rig.cloud.url];
  const { out } = await runMachine(list, { env });
  assert.match(out, /^no secret that you may see; .*owners$/m);
});

Deno.test("what every command takes may stand before its name", async () => {
  await using rig = await CliRig.open();
  const behind = await rig.run(["machines", "list", "--quiet", "--profile", "default"]);
  for (const front of [["--quiet", "--profile", "default"], ["-q", "--profile=default"]]) {
    assert.equal((await rig.run([...front, "machines", "list"])).out, behind.out);
  }
  const unknown = await errorOf(rig.run(["--profile", "absent", "machines", "list"]));
  assert.match(unknown?.message ?? "", /absent/);
  const { out } = await rig.run(["--quiet", "machines", "list", "--help"]);
  assert.match(out, /^List machines/);
});
