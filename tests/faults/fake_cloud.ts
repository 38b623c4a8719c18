import { create } from "@bufbuild/protobuf";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import {
  type RobotConfig,
  RobotConfigSchema,
  RobotService,
} from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { RpcServer } from "../../shared/rpc/server/server.ts";

export const FAKE_PART = { id: "5c7ac9b1-0c55-4f0a-9f32-cf33b2ad7f7e", secret: "part-secret" };

/**
 * A cloud that sends a machine whatever a test wants, valid or not. It has no push channel, as
 * clouds of others have none.
 */
export class FakeCloud implements AsyncDisposable {
  /** What the machine gets when it asks next. */
  config: RobotConfig = create(RobotConfigSchema);
  /** Messages of all log entries so far. */
  readonly logs: string[] = [];
  /** The last reason the machine gave why it does not run the newest configuration. */
  configError: string | undefined;
  /** How often the configuration was requested. */
  polls = 0;

  private constructor(private readonly server: RpcServer) {}

  static async start(): Promise<FakeCloud> {
    const router = new RpcRouter();
    const server = await RpcServer.start({
      router,
      listen: { hostname: "127.0.0.1", port: 0 },
    });
    const cloud = new FakeCloud(server);
    router.service(AuthService, {
      authenticate: () => ({ accessToken: "token" }),
    });
    router.service(RobotService, {
      config: () => {
        cloud.polls++;
        return { config: cloud.config };
      },
      log: ({ logs }) => {
        cloud.logs.push(...logs.map((entry) => entry.message));
        return {};
      },
      needsRestart: ({ id }) => ({ id, mustRestart: false }),
    });
    router.service(MachineService, {
      reportStatus: ({ configError }) => {
        cloud.configError = configError;
        return {};
      },
    });
    return cloud;
  }

  get url(): string {
    return `http://127.0.0.1:${this.server.address.port}`;
  }

  /** A configuration with one fake sensor that reads `{n}`. */
  machineConfig(bindAddress: string, n: number): RobotConfig {
    return create(RobotConfigSchema, {
      cloud: {
        id: FAKE_PART.id,
        fqdn: "bench-main.lab.example",
        localFqdn: "bench-main.lab.local.example",
        locationSecrets: [{ id: "1", secret: "location-secret" }],
        signalingInsecure: true,
      },
      network: { bindAddress },
      components: [{
        name: "fake",
        api: "rdk:component:sensor",
        model: "rdk:builtin:fake",
        attributes: { readings: { n } },
      }],
      revision: `revision-${n}`,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close({ graceMs: 500 });
  }
}
