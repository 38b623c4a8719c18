import assert from "node:assert/strict";
import { join } from "node:path";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import type { Bootstrapped } from "../../tools/run/demo.ts";
import { Program } from "../e2e/program.ts";

export const DEADLINE_MS = 300_000;

/** A compiled cloud on loopback, with one machine. */
export class CompiledCloud implements AsyncDisposable {
  #serving: Program | undefined;

  private constructor(
    readonly binary: string,
    readonly data: string,
    readonly made: Bootstrapped,
    readonly port: number,
  ) {}

  /** @param config the machine's configuration */
  static async bootstrap(binary: string, dir: string, config: object): Promise<CompiledCloud> {
    const file = join(dir, "machine-configuration.json");
    await Deno.writeTextFile(file, JSON.stringify(config));
    const data = join(dir, "cloud");
    const said = await runCloud(binary, [
      ...["bootstrap", "--data", data, "--org", "o", "--location", "l", "--machine", "m"],
      ...["--config", file],
    ]);
    return new CompiledCloud(binary, data, JSON.parse(said) as Bootstrapped, freePort(2));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** What the machine's credentials file has. */
  get credentials(): object {
    return credentialsFor(this.url, this.made);
  }

  /** Runs a command on its data folder, while it does not serve. */
  async run(...args: string[]): Promise<string> {
    return await runCloud(this.binary, args);
  }

  async serve(): Promise<void> {
    const args = ["serve", "--data", this.data, "--listen", `127.0.0.1:${this.port}`];
    this.#serving = Program.start({ name: "machine-cloud", command: this.binary, args });
    await waitFor(
      () => fetch(`${this.url}/readyz`).then((answer) => answer.ok, () => false),
      { deadlineMs: DEADLINE_MS, what: "a cloud that serves" },
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#serving?.stop(10_000);
  }
}

async function runCloud(binary: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(binary, { args }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.equal(code, 0, text(stdout) + text(stderr));
  return text(stdout);
}

/** A credentials file's content. */
export function credentialsFor(cloudUrl: string, made: Bootstrapped): object {
  const { part_id: id, part_secret: secret } = made;
  return { cloud: { app_address: cloudUrl, id, secret } };
}

/** Waits until a cloud says that its machine is online and what its server reports. */
export async function untilOnline(cloudUrl: string, made: Bootstrapped): Promise<void> {
  const cloud = await signIn(cloudUrl, { id: made.api_key_id, key: made.api_key });
  const service = cloud.client(ConsoleService);
  await waitFor(async () => {
    const { online, status } = await service.getPartLiveStatus({ partId: made.part_id });
    return online && status !== undefined;
  }, { deadlineMs: DEADLINE_MS, everyMs: 500, what: "a machine that is online in its cloud" });
}
