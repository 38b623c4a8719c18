import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { identityKey } from "../../../shared/cloud/auth/identity.ts";
import { TAKES_HASHES_HEADER } from "../../../shared/rights/hashed_access.ts";
import type { AgentInfo, RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { type Callers, tokenIssuedMs } from "../../accounts/access/callers.ts";
import type { ClearSecrets } from "../../accounts/access/clear_secrets.ts";
import type { MachineCertificates } from "../../accounts/certificates/machine_certificates.ts";
import type { LogIntake } from "../logs/log_intake.ts";
import type { PartFacts, Presence } from "../presence/presence.ts";
import type { MachineConfigs } from "./machine_configs.ts";
import type { Restarts } from "./restarts.ts";

export interface RobotServiceOptions {
  readonly callers: Callers;
  readonly configs: MachineConfigs;
  readonly clearSecrets: ClearSecrets;
  readonly restarts: Restarts;
  readonly presence: Presence;
  readonly intake: LogIntake;
  readonly certificates: Pick<MachineCertificates, "of">;
  readonly publicUrl: () => string;
}

const RESTART_CHECK_INTERVAL_MS = 5_000;

/** `viam.app.v1.RobotService`: what every machine's server and agent ask of the cloud. */
export function robotService(
  { callers, configs, clearSecrets, restarts, presence, intake, certificates, publicUrl }:
    RobotServiceOptions,
): ServiceImpl<typeof RobotService> {
  return {
    async config({ id, agentInfo }, context) {
      const part = await (await callers.scope(context)).part(id, "report");
      presence.seen(part.id, agentInfo && factsOf(agentInfo));
      await restarts.fetched(part, tokenIssuedMs(context));
      const takesHashes = context.requestHeader.has(TAKES_HASHES_HEADER);
      const secretsInClear = await clearSecrets.mayHave(
        context.values.get(identityKey),
        takesHashes,
      );
      const { platform } = presence.of(part.id).facts;
      return { config: await configs.of(part, { platform, secretsInClear }) };
    },

    async certificate({ id }, context) {
      const part = await (await callers.scope(context)).part(id, "report");
      if (!publicUrl().startsWith("https:")) {
        throw new ConnectError(
          "a cloud without TLS sends no private keys; give it a certificate, or an address with " +
            "https in --public-url where a proxy terminates TLS",
          Code.FailedPrecondition,
        );
      }
      const { certificate, key } = await certificates.of(part);
      return { id: part.id, tlsCertificate: certificate, tlsPrivateKey: key };
    },

    async log({ id, logs }, context) {
      const part = await (await callers.scope(context)).part(id, "report");
      await intake.take(part.id, logs);
      return {};
    },

    async needsRestart({ id }, context) {
      const part = await (await callers.scope(context)).part(id, "report");
      return {
        id,
        mustRestart: await restarts.mustRestart(part),
        restartCheckInterval: durationFromMs(RESTART_CHECK_INTERVAL_MS),
      };
    },
  };
}

function factsOf(info: AgentInfo): PartFacts {
  return {
    serverVersion: info.version,
    host: info.host,
    os: info.os,
    ips: info.ips,
    ...(info.platform === undefined ? {} : { platform: info.platform }),
  };
}
