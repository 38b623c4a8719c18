import { ConfigurationService } from "../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { EnrollmentService } from "../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { FleetService } from "../../shared/gen/machine/cloud/v1/fleet_pb.ts";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import { ClearSecrets } from "../accounts/access/clear_secrets.ts";
import type { MachineCertificates } from "../accounts/certificates/machine_certificates.ts";
import { RecentDocuments } from "../fleet/configuration/recent_documents.ts";
import { enrollmentService } from "../fleet/enrollment/enrollment_service.ts";
import { FragmentRollouts } from "../fleet/fragments/fragment_rollouts.ts";
import { configurationService } from "../fleet/history/configuration_service.ts";
import { LogIntake } from "../fleet/logs/log_intake.ts";
import { LogTail } from "../fleet/logs/log_tail.ts";
import { ConfigWarnings } from "../fleet/machines/config_warnings.ts";
import { fleetService } from "../fleet/machines/fleet_service.ts";
import { MachineConfigs } from "../fleet/machines/machine_configs.ts";
import { Restarts } from "../fleet/machines/restarts.ts";
import { Revisions } from "../fleet/machines/revisions.ts";
import { robotService } from "../fleet/machines/robot_service.ts";
import { ChangedMachines } from "../fleet/presence/changed_machines.ts";
import { Presence } from "../fleet/presence/presence.ts";
import { DeviceCalls } from "../fleet/relay/device_calls.ts";
import { RelayBus } from "../fleet/relay/relay_bus.ts";
import { openSignaling } from "../fleet/signaling/signaling.ts";
import { LiveStatus } from "../fleet/watch/live_status.ts";
import { machineService } from "../fleet/watch/machine_service.ts";
import { Watchers } from "../fleet/watch/watchers.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { ConfigPackages } from "../registry/items/config_packages.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import type { ChangeFeed } from "../storage/database/change_feed.ts";
import type { CallerServices } from "./caller_services.ts";
import type { ServicesOptions } from "./services_options.ts";

export interface FleetServicesOptions extends
  Pick<
    ServicesOptions,
    | "clock"
    | "domain"
    | "folder"
    | "iceServers"
    | "limiter"
    | "log"
    | "logLimits"
    | "logs"
    | "offlineAfterMs"
    | "peers"
    | "publicUrl"
    | "random"
  > {
  readonly changes: ChangeFeed;
  readonly nodes: Nodes;
  readonly callers: CallerServices;
  readonly packages: ConfigPackages;
  readonly certificates: MachineCertificates;
}

/** Machines: their configurations, presence, logs, and the ways to them. */
export function openFleetServices(options: FleetServicesOptions) {
  const { changes, nodes, certificates, clock, random, log, domain, publicUrl } = options;
  const { callers, secrets, apiKeys, machineKeys } = options.callers;
  const { database } = options.folder;
  const { queries } = database;
  const presence = new Presence(queries, clock, log.child("presence"), options.offlineAfterMs);
  const changed = new ChangedMachines();
  const documents = new RecentDocuments();
  const revisions = new Revisions(queries, changes, clock, documents);
  const restarts = new Restarts(queries, changes, clock);
  const watchers = new Watchers(changes);
  const live = new LiveStatus(watchers, clock);
  const tail = new LogTail();
  const intake = new LogIntake(options.logs, tail, clock, options.logLimits);
  const rollouts = new FragmentRollouts({
    ...{ queries, engine: database.engine, changes, clock, log: log.child("fragments") },
    transact: (work) => database.quickTransaction(work),
  });
  const configs = new MachineConfigs({
    ...{ queries, documents, secrets, machineKeys, packages: options.packages, domain, publicUrl },
  });
  const deviceCalls = new DeviceCalls();
  const relayBus = new RelayBus(nodes, deviceCalls, log.child("relay"));
  const { peers, iceServers } = options;
  const signaling = openSignaling({
    ...{ queries, callers, presence, domain, nodes, deviceCalls, relayBus, peers, iceServers },
    ...{ clock, random, log: log.child("signaling") },
  });
  return {
    presence,
    changed,
    watchers,
    live,
    tail,
    intake,
    rollouts,
    signaling,
    warnings: new ConfigWarnings(queries, documents),
    /** What the calls of AppService about machines are made of. */
    machines: {
      ...{ callers, queries, documents, secrets, revisions, restarts, presence, clock, domain },
      ...{ changed, logs: intake },
    },
    /** Shares with other nodes what this one has in memory, and learns theirs. */
    share: (): readonly AsyncDisposable[] => [
      presence.share(nodes),
      changed.share(nodes, { clock, log: log.child("changed") }),
      restarts.share(nodes, log.child("restarts")),
      live.share(nodes, log.child("live")),
      intake.share(nodes, log.child("logs")),
      tail.share(nodes, { logs: options.logs, clock, log: log.child("logs") }),
    ],
    mount: (router: RpcRouter): RpcRouter =>
      router
        .service(
          RobotService,
          withCallFailures(robotService({
            ...{ callers, configs, restarts, presence, intake, certificates, publicUrl },
            clearSecrets: new ClearSecrets(queries),
          })),
        )
        .service(
          MachineService,
          withCallFailures(machineService({
            ...{ callers, deviceCalls, relayBus, keys: apiKeys, secrets, queries, restarts },
            ...{ presence, watchers, live, certificates, clock },
          })),
        )
        .service(SignalingService, withCallFailures(signaling.service))
        .service(
          ConfigurationService,
          withCallFailures(configurationService({ callers, queries, revisions })),
        )
        .service(
          FleetService,
          withCallFailures(fleetService({ callers, queries, presence, clock })),
        )
        .service(
          EnrollmentService,
          withCallFailures(enrollmentService({
            ...{ callers, queries, secrets, limiter: options.limiter, clock, random, publicUrl },
            changed,
            transact: (work) => database.sharedTransaction(work),
          })),
        ),
  };
}
