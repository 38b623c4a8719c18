import { Code, ConnectError } from "@connectrpc/connect";
import { AgentDeviceService } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import {
  CredentialsError,
  parseCredentials,
  readCredentialsFile,
} from "../../shared/cloud/credentials/credentials_file.ts";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import type { KnownSecrets } from "../cloud/logs/known_secrets.ts";
import type { CredentialsPort } from "../networks/worker/network_deps.ts";
import type { ChosenCredentials } from "../provisioning/provisioning_port.ts";
import type { AgentDeps } from "./deps.ts";

const QUESTION_MS = 10_000;

/** Credentials that are not there yet. */
export class NewCredentials implements CredentialsPort {
  appAddress: string | undefined;

  constructor(
    readonly file: string,
    private readonly deps: Pick<AgentDeps, "openCloud" | "host" | "version">,
    private readonly secrets: Pick<KnownSecrets, "add">,
  ) {}

  has(): boolean {
    return this.appAddress !== undefined;
  }

  /** A file that somebody put there by hand counts as well. */
  async look(): Promise<void> {
    try {
      this.appAddress = (await readCredentialsFile(this.file)).appAddress;
    } catch (error) {
      if (!(error instanceof CredentialsError)) throw error;
      this.appAddress = undefined;
    }
  }

  async check(chosen: ChosenCredentials, signal: AbortSignal) {
    const parsed = parseCredentials(fileOf(chosen), this.file);
    this.secrets.add([parsed.credentials.payload.reveal()]);
    const cloud = this.deps.openCloud(parsed);
    try {
      const { host, version } = this.deps;
      const versionInfo = { agentRunning: version, agentInstalled: version };
      await cloud.client(AgentDeviceService).deviceAgentConfig(
        { id: parsed.partId, hostInfo: host, versionInfo },
        { signal, timeoutMs: QUESTION_MS },
      );
      return "accepted";
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectError)) throw error;
      return REFUSALS.has(error.code) ? "refused" : "unreachable";
    } finally {
      cloud.close();
    }
  }

  async write(chosen: ChosenCredentials): Promise<void> {
    const text = `${JSON.stringify(fileOf(chosen), null, 2)}\n`;
    await writeFileAtomic(this.file, text, { mode: 0o600 });
    await this.look();
  }
}

const REFUSALS = new Set([Code.Unauthenticated, Code.PermissionDenied, Code.NotFound]);

function fileOf({ appAddress, partId, key }: ChosenCredentials) {
  const proof = "secret" in key ? key : { api_key: { id: key.id, key: key.key } };
  return { cloud: { app_address: appAddress, id: partId, ...proof } };
}
