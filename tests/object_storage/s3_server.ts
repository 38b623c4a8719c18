import { fileURLToPath } from "node:url";
import type { S3Settings } from "../../cloud/storage/blobs/s3_settings.ts";
import { Secret } from "../../shared/base/redaction/secret.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";

const INSTALLER = new URL("../../tools/s3_server.sh", import.meta.url);
const PROGRAM = new URL("s3_server.py", import.meta.url);
const START_MS = 120_000;

/**
 * Some requests that are answered with an error. Status 0 ends the server; 200 keeps the answer
 * back until faults are set again.
 */
export interface S3Fault {
  readonly method: string;
  /** Part of path and query: `partNumber=2`. */
  readonly contains: string;
  readonly times: number;
  readonly status: number;
  readonly code?: string;
}

interface Ready {
  readonly port: number;
  readonly access_key_id: string;
  readonly secret_access_key: string;
}

/** A real server for the protocol of S3 in a process of its own; it checks signatures. */
export class S3Server implements AsyncDisposable {
  private constructor(
    private readonly child: Deno.ChildProcess,
    private readonly ready: Ready,
    readonly ended: Promise<Deno.CommandStatus>,
  ) {}

  /** @param port of one that died; left out: a free one. */
  static async start(port = freePort()): Promise<S3Server> {
    const installed = await new Deno.Command("sh", {
      args: [fileURLToPath(INSTALLER)],
      stdout: "piped",
      stderr: "inherit",
    }).output();
    if (!installed.success) throw new Error("the server for S3 could not be installed");
    const python = new TextDecoder().decode(installed.stdout).trim();
    const child = new Deno.Command(python, {
      args: [fileURLToPath(PROGRAM), String(port)],
      env: { PYTHONDONTWRITEBYTECODE: "1" },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    let line = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), START_MS);
    for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
      line += text;
      if (line.includes("\n")) break;
    }
    clearTimeout(timer);
    if (!line.includes("\n")) throw new Error("the server for S3 did not start");
    return new S3Server(child, JSON.parse(line) as Ready, child.status);
  }

  get port(): number {
    return this.ready.port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The variables of a cloud that uses it. */
  get env(): Record<string, string> {
    return {
      AWS_ACCESS_KEY_ID: this.ready.access_key_id,
      AWS_SECRET_ACCESS_KEY: this.ready.secret_access_key,
      AWS_ENDPOINT_URL_S3: this.url,
      AWS_REGION: "us-east-1",
    };
  }

  settings(changes: Partial<S3Settings> = {}): S3Settings {
    return {
      baseUrl: `${this.url}/machines/`,
      bucket: "machines",
      prefix: "site/",
      region: "us-east-1",
      accessKeyId: this.ready.access_key_id,
      secretAccessKey: new Secret(this.ready.secret_access_key),
      sessionToken: undefined,
      ...changes,
    };
  }

  /** Takes the place of the faults that were set before. */
  async setFaults(faults: readonly S3Fault[]): Promise<void> {
    const all = faults.map((fault) => ({ code: "InternalError", ...fault }));
    const body = JSON.stringify(all);
    const response = await fetch(`${this.url}/_faults`, { method: "PUT", body });
    await response.body?.cancel();
  }

  /** What was queried since the last time: `PUT /machines/site/data-files/…`. */
  async requests(): Promise<string[]> {
    return await (await fetch(`${this.url}/_requests`)).json() as string[];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child.stdin.close().catch(() => undefined);
    await this.ended;
  }
}
