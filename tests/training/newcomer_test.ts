/** What docs/training.md says to type, from drawing images to asking the machine, as it stands. */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { DataService } from "../../shared/gen/viam/app/data/v1/data_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { tellSkip } from "../../shared/test_tools/skips.ts";
import { ROOT } from "../../tools/programs.ts";
import { type ApiKey, signIn } from "../../tools/run/cloud_api.ts";
import { Program } from "../e2e/program.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { tfliteModule } from "./python_module.ts";

const SECTIONS = ["From pictures to a model", "On the machine", "A script of your own"];
/** The first managed job of a cloud installs TensorFlow. */
const TRAINING_MS = 15 * 60_000;
const DEADLINE_MS = 3 * 60_000;

/** A copy of what the page needs of the clone, with other ports. */
class Walk implements AsyncDisposable {
  readonly #programs: Program[] = [];
  readonly #env: Record<string, string> = {};

  private constructor(readonly dir: string, private readonly ports: Record<string, string>) {}

  static async open(): Promise<Walk> {
    const dir = await Deno.makeTempDir({ prefix: "machine-newcomer-" });
    const ports = { "8080": String(freePort()), "8081": String(freePort()) };
    const walk = new Walk(dir, ports);
    await copy(join(ROOT, "docs", "examples"), join(dir, "docs", "examples"));
    for (const name of ["capture.json", "use.json"]) {
      const path = join(dir, "docs", "examples", "shapes", name);
      await Deno.writeTextFile(path, walk.here(await Deno.readTextFile(path)));
    }
    await Deno.mkdir(join(dir, "bin"));
    for (const name of ["machine-cloud", "machine-server"]) {
      const script = `#!/bin/sh\nexec '${join(ROOT, "bin", name)}' "$@"\n`;
      await Deno.writeTextFile(join(dir, "bin", name), script, { mode: 0o755 });
    }
    return walk;
  }

  /** A text with the ports of this walk. */
  here(text: string): string {
    return text.replaceAll(/:(808[01])\b/g, (_, port: string) => `:${this.ports[port]}`);
  }

  /** Does what a block says; programs that serve continue. @returns what it printed */
  async type(block: string): Promise<string> {
    const lines = this.here(block).replaceAll("\\\n", " ").trim().split("\n");
    let printed = "";
    for (const line of lines) {
      if (line.startsWith("export ")) continue; // its keys come from bootstrap
      if (/machine-cloud serve|bin\/machine-server/.test(line)) await this.#serve(line);
      else printed += await this.#run(line);
      if (line.includes("machine-cloud bootstrap")) await this.#takeKeys(printed);
    }
    return printed;
  }

  /** Ctrl-C in the terminal of the server. */
  async endServer(): Promise<void> {
    await this.#server().stop(20_000);
  }

  /** Waits for a line of the server's log. */
  async serverSays(pattern: RegExp): Promise<void> {
    await this.#server().waitForLine(pattern, DEADLINE_MS);
  }

  get key(): ApiKey {
    return {
      id: this.#env["MACHINE_CLOUD_API_KEY_ID"] ?? "",
      key: this.#env["MACHINE_CLOUD_API_KEY"] ?? "",
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#programs.toReversed()) await program.stop(10_000);
    await Deno.remove(this.dir, { recursive: true });
  }

  outputs(): string {
    return this.#programs.map((program) => `--- ${program.name}\n${program.tail(40)}`).join("\n");
  }

  #server(): Program {
    const server = this.#programs.findLast(({ name }) => name.includes("machine-server"));
    assert.ok(server, "no server was started");
    return server;
  }

  #start(line: string): Program {
    // The shell's own word for where one is; the examples' configurations use it.
    const env = { ...this.#env, PWD: this.dir, PYTHONDONTWRITEBYTECODE: "1" };
    const args = ["-c", line];
    const program = Program.start({ name: line, command: "sh", args, env, cwd: this.dir });
    this.#programs.push(program);
    return program;
  }

  async #serve(line: string): Promise<void> {
    // In place of the shell, so that a signal reaches the program.
    const program = this.#start(
      line.replace(/bin\/machine-/, "exec $&").replace(
        /^(\w+=\S+) exec /,
        "export $1; exec ",
      ),
    );
    await program.waitForLine(/serving\s+\{"url"/, DEADLINE_MS);
  }

  async #run(line: string): Promise<string> {
    const program = this.#start(line);
    const timeout = setTimeout(() => void program.stop(1_000), TRAINING_MS);
    const { code } = await program.exited;
    clearTimeout(timeout);
    const printed = `${program.lines.join("\n")}\n`;
    assert.equal(code, 0, `${line}\n${printed}`);
    return printed;
  }

  async #takeKeys(printed: string): Promise<void> {
    const made = JSON.parse(printed.trim().split("\n")[0] ?? "");
    this.#env["MACHINE_CLOUD_API_KEY_ID"] = made.api_key_id;
    this.#env["MACHINE_CLOUD_API_KEY"] = made.api_key;
    const path = join(this.dir, ".machine", "shapes", "machine.json");
    await Deno.writeTextFile(path, this.here(await Deno.readTextFile(path)));
  }
}

async function copy(from: string, to: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("sh", {
    args: ["-c", 'mkdir -p "$2" && cp -R "$1/." "$2"', "sh", from, to],
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
}

/** The blocks to type of a section. */
function blocks(page: string, heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  assert.ok(section, `docs/training.md has no section "${heading}"`);
  return [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
}

/** How many images the cloud has. */
async function pictures(walk: Walk): Promise<number> {
  const cloud = await signIn(walk.here("http://127.0.0.1:8080"), walk.key);
  const { count } = await cloud.client(DataService).binaryDataByFilter({ countOnly: true });
  return Number(count);
}

async function follow(walk: Walk): Promise<void> {
  const page = await Deno.readTextFile(join(ROOT, "docs", "training.md"));
  const [capture = "", use = "", script = ""] = SECTIONS;
  const [draw = "", bootstrap = "", serve = "", dataset = "", submit = "", ...more] = blocks(
    page,
    capture,
  );
  assert.deepEqual(more, []);
  await walk.type(draw);
  await walk.type(bootstrap);
  await walk.type(serve);
  await waitFor(async () => await pictures(walk) >= 100, {
    deadlineMs: DEADLINE_MS,
    what: "pictures in the cloud",
  });
  await walk.endServer();
  assert.match(await walk.type(dataset), /^triangle: [2-9]\d+ pictures$/m);
  assert.match(await walk.type(submit), /^training job \S+ made version \S+ of \S+\/shapes$/m);

  const [start = "", look = "", ...others] = blocks(page, use);
  assert.deepEqual(others, []);
  await walk.type(start);
  await walk.serverSays(/module is ready/);
  const seen = await walk.type(look);
  const told = [...seen.matchAll(/^(\w+) [01]\.\d\d$/gm)].map(([, name]) => name);
  assert.deepEqual(told, ["circle", "square", "triangle"], seen);

  const [own = ""] = blocks(page, script);
  assert.match(await walk.type(own), /^training job \S+ made version \S+ of \S+\/colours$/m);
}

Deno.test("docs/training.md takes a newcomer from pictures to a model on a machine", async () => {
  await using walk = await Walk.open();
  const module = await tfliteModule(walk.dir);
  if (typeof module === "string") return tellSkip(import.meta.url, module);
  try {
    await follow(walk);
  } catch (error) {
    process.stderr.write(`${walk.outputs()}\n`);
    throw error;
  }
});
