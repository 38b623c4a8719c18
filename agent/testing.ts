/** What several of the agent's tests use. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  AgentDeviceService,
  type DeviceAgentConfigRequest,
  type DeviceAgentConfigResponseSchema,
} from "../shared/gen/viam/app/agent/v1/agent_pb.ts";
import {
  type NeedsRestartResponseSchema,
  RobotService,
} from "../shared/gen/viam/app/v1/robot_pb.ts";
import {
  AgentService,
  type AgentStatus,
  type GetTargetsRequest,
  type GetTargetsResponseSchema,
  type ReportAgentStatusResponseSchema,
} from "../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { LogEntry } from "../shared/gen/viam/common/v1/common_pb.ts";
import { HostInfoSchema } from "../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { createInProcessTransport } from "../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../shared/rpc/server/router.ts";
import type { Cloud } from "./run/deps.ts";

/** A cloud inside the test. It answers what the test says and keeps what it was sent. */
export class FakeCloud {
  answer: MessageInitShape<typeof DeviceAgentConfigResponseSchema> = {};
  restart: MessageInitShape<typeof NeedsRestartResponseSchema> = {};
  /** Unset: the cloud knows no targets and takes no reports, as clouds of others. */
  targets: MessageInitShape<typeof GetTargetsResponseSchema> | undefined;
  reportAnswer: MessageInitShape<typeof ReportAgentStatusResponseSchema> = {};
  /** Every call fails with this when set. */
  failure: Code | undefined;
  /** While set, calls are answered only after it resolves. */
  hold: Promise<void> | undefined;
  readonly questions: DeviceAgentConfigRequest[] = [];
  restartQuestions = 0;
  readonly targetQuestions: GetTargetsRequest[] = [];
  readonly reports: AgentStatus[] = [];
  readonly logs: LogEntry[] = [];
  readonly #transport: Transport;

  constructor() {
    this.#transport = createInProcessTransport(
      new RpcRouter().service(AgentDeviceService, {
        deviceAgentConfig: async (question) => {
          this.questions.push(question);
          await this.#ready();
          return this.answer;
        },
      }).service(RobotService, {
        needsRestart: async () => {
          this.restartQuestions++;
          await this.#ready();
          return this.restart;
        },
        log: async ({ logs }) => {
          await this.#ready();
          this.logs.push(...logs);
          return {};
        },
      }).service(AgentService, {
        getTargets: async (question) => {
          this.targetQuestions.push(question);
          await this.#ready();
          return this.targets ?? unimplemented();
        },
        reportAgentStatus: async ({ status }) => {
          await this.#ready();
          if (!this.targets) return unimplemented();
          if (status) this.reports.push(status);
          return this.reportAnswer;
        },
      }),
    );
  }

  /** As the agent sees it. */
  get connection(): Cloud {
    return { client: (service) => createClient(service, this.#transport), close: () => {} };
  }

  async #ready(): Promise<void> {
    await this.hold;
    if (this.failure !== undefined) throw new ConnectError("as told", this.failure);
  }
}

function unimplemented(): never {
  throw new ConnectError("not here", Code.Unimplemented);
}

export const testHost = create(HostInfoSchema, { platform: "linux/amd64", distro: "debian:12" });

/** Lets everything that is ready run, calls through the in-process transport included. */
export async function settle(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}
