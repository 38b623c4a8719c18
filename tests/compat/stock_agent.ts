/** A small client of our own that does what a stock agent of the family does, in its order. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { basename, join } from "node:path";
import { durationFromMs, timestampNow } from "@bufbuild/protobuf/wkt";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import {
  AgentDeviceService,
  type DeviceAgentConfigResponse,
  type UpdateInfo,
} from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { Program } from "../e2e/program.ts";
import { GoGrpc } from "./go_grpc.ts";

type Binary = "viam-agent" | "viam-server";

/** What is known of a program's versions. */
interface Versions {
  target: string;
  current: string;
  previous: string;
  info: UpdateInfo | undefined;
}

interface RestartStatus {
  readonly restart_allowed: boolean;
  readonly does_not_handle_needs_restart: boolean;
}

/** Both addresses, in this order and with nothing between or behind them but what `.*` takes. */
const READY = /serving\W*{"url":\W*"(https?:\/\/[\w.:-]+)".*"alt_url":\W*"(https?:\/\/[\w.:-]+)"}/;
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 60_000;

export class StockAgent implements AsyncDisposable {
  /** What it would write into its log as an error or a warning. */
  readonly complaints: string[] = [];
  readonly #versions: Record<Binary, Versions> = {
    "viam-agent": { target: "", current: "", previous: "", info: undefined },
    "viam-server": { target: "", current: "", previous: "", info: undefined },
  };
  readonly #startedMs = Date.now();
  #server: Program | undefined;
  #urls: readonly string[] = [];
  #environment: Record<string, string> = {};
  #handlesNeedsRestart = false;
  #wantsRestart = false;

  private constructor(
    private readonly dir: string,
    private readonly credentialsFile: string,
    private readonly partId: string,
    private readonly token: string,
    private readonly cloud: GoGrpc,
    private readonly environment: Readonly<Record<string, string>>,
  ) {}

  /** Reads the credentials file, signs in once, and makes its folders. */
  static async start(
    dir: string,
    credentialsFile: string,
    environment: Readonly<Record<string, string>> = {},
  ): Promise<StockAgent> {
    for (const name of ["bin", "cache", "tmp", "etc"]) {
      await Deno.mkdir(join(dir, name), { recursive: true });
    }
    const { cloud: { app_address, id, secret, api_key } } = JSON.parse(
      await Deno.readTextFile(credentialsFile),
    );
    const cloud = new GoGrpc(app_address);
    const { accessToken } = await cloud.call(AuthService.method.authenticate, {
      entity: api_key?.id ?? id,
      credentials: api_key
        ? { type: "api-key", payload: api_key.key }
        : { type: "robot-secret", payload: secret },
    });
    return new StockAgent(dir, credentialsFile, id, accessToken, cloud, environment);
  }

  get server(): Program | undefined {
    return this.#server;
  }

  /** What `bin/viam-server` leads to. */
  linked(binary: Binary): Promise<string> {
    return Deno.readLink(join(this.dir, "bin", binary));
  }

  /** One turn of its loop: requests its configuration, updates what differs, starts the server. */
  async checkUpdates(): Promise<DeviceAgentConfigResponse> {
    const answer = await this.#config();
    await this.#updateBinary("viam-agent");
    const isNew = await this.#updateBinary("viam-server");
    const environment = answer.advancedSettings?.["viam_server_env"] ?? {};
    const isOther = JSON.stringify(environment) !== JSON.stringify(this.#environment);
    this.#environment = environment as Record<string, string>;
    this.#wantsRestart ||= isNew || isOther;
    // A server that is just applying a configuration refuses; a later turn gets its way.
    if (this.#isRunning && this.#wantsRestart && (await this.restartStatus()).restart_allowed) {
      await this.stop();
    }
    await this.#startServer();
    return answer;
  }

  /** The other loop, which runs when the server leaves the question to the agent. */
  async needsRestart(): Promise<boolean> {
    assert.equal(this.#handlesNeedsRestart, false, "the server leaves it to its agent");
    const { needsRestart } = RobotService.method;
    const answer = await this.cloud.call(needsRestart, { id: this.partId }, this.#call);
    return answer.mustRestart;
  }

  /** Sends a line of its own log. */
  async log(message: string): Promise<void> {
    await this.cloud.call(RobotService.method.log, {
      id: this.partId,
      logs: [{
        host: "stock",
        level: "info",
        time: timestampNow(),
        loggerName: "viam-agent",
        message,
        caller: { Defined: true, File: "manager.go", Line: 1 },
        stack: "",
        fields: [],
      }],
    }, this.#call);
  }

  /** The first answer of either address. */
  async restartStatus(): Promise<RestartStatus> {
    return await Promise.any(this.#urls.map(async (url) => {
      const response = await fetch(`${url}/restart_status`, {
        signal: AbortSignal.timeout(60_000),
      });
      const body = await response.text();
      if (response.status !== 200) throw new Error(`${response.status}: ${body}`);
      return JSON.parse(body) as RestartStatus;
    }));
  }

  /** TERM, and it waits for the end. */
  async stop(): Promise<void> {
    if (!this.#server) return;
    Deno.kill(this.#server.pid, "SIGTERM");
    const timer = setTimeout(() => void this.#server?.stop(0), STOP_TIMEOUT_MS);
    const { code } = await this.#server.waitForEnd();
    clearTimeout(timer);
    assert.equal(code, 0, this.#server.tail(20));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cloud[Symbol.dispose]();
    await this.#server?.stop(1_000);
  }

  get #call() {
    return { token: this.token };
  }

  get #isRunning(): boolean {
    return this.#server !== undefined && !this.#server.hasExited;
  }

  async #config(): Promise<DeviceAgentConfigResponse> {
    const agent = this.#versions["viam-agent"];
    const server = this.#versions["viam-server"];
    const answer = await this.cloud.call(AgentDeviceService.method.deviceAgentConfig, {
      id: this.partId,
      hostInfo: { platform: "linux/amd64", distro: "ubuntu:22.04", tags: [] },
      versionInfo: {
        agentRunning: "0.31.0",
        agentInstalled: agent.current,
        viamServerRunning: this.#isRunning ? server.current : "",
        viamServerInstalled: server.current,
      },
      agentUptime: durationFromMs(Date.now() - this.#startedMs),
      ...(this.#isRunning ? { viamServerUptime: durationFromMs(1) } : {}),
    }, this.#call);
    this.#wish("viam-agent", answer.agentUpdateInfo);
    this.#wish("viam-server", answer.viamServerUpdateInfo);
    return answer;
  }

  #wish(binary: Binary, info: UpdateInfo | undefined): void {
    if (!info) return;
    if (info.version === "") this.complaints.push(`processing update data for ${binary}`);
    const target = info.version === "customURL" ? `customURL+${info.url}` : info.version;
    Object.assign(this.#versions[binary], { target, info });
  }

  /** Downloads, checks and links what is wanted. */
  async #updateBinary(binary: Binary): Promise<boolean> {
    const versions = this.#versions[binary];
    const { target, current, info } = versions;
    if (!info || target === current) return false;
    const response = await fetch(info.url, { signal: AbortSignal.timeout(60_000) });
    assert.equal(response.status, 200, info.url);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    assert.equal(sha256, info.sha256.toHex(), "the download is what was named");
    const path = await this.#freeName(
      join(this.dir, "cache", basename(new URL(info.url).pathname)),
    );
    await Deno.writeFile(path, bytes, { mode: 0o755 });
    // Under the name that the cloud reports, whatever it is.
    const link = join(this.dir, "bin", info.filename);
    await Deno.remove(link).catch(() => {}); // the first one
    await Deno.symlink(path, link);
    Object.assign(versions, { previous: current, current: target });
    return true;
  }

  async #freeName(path: string): Promise<string> {
    for (let copy = 0;; copy++) {
      const name = copy === 0 ? path : `${path}.duplicate-${String(copy).padStart(3, "0")}`;
      const isThere = await Deno.lstat(name).then(() => true, () => false);
      if (!isThere) return name;
    }
  }

  async #startServer(): Promise<void> {
    if (this.#isRunning) return;
    this.#wantsRestart = false;
    // Always this name: nothing is started when the cloud named the link otherwise.
    const command = join(this.dir, "bin", "viam-server");
    if (!await Deno.stat(command).then(() => true, () => false)) {
      this.complaints.push(`viam-server binary missing at ${command}, not starting`);
      return;
    }
    this.#server = Program.start({
      name: "viam-server",
      command,
      args: ["-config", this.credentialsFile],
      cwd: this.dir,
      env: {
        ...this.environment,
        VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING: "true",
        ...this.#environment,
      },
    });
    const ready = await this.#server.waitForLine(READY, START_TIMEOUT_MS);
    const [, url = "", altUrl = ""] = ready;
    this.#urls = [url, altUrl.replace("0.0.0.0", "127.0.0.1")];
    const { does_not_handle_needs_restart } = await this.restartStatus();
    this.#handlesNeedsRestart = !does_not_handle_needs_restart;
  }
}
