import { ProvisioningService } from "../../../shared/gen/viam/provisioning/v1/provisioning_pb.ts";
import { OPEN_MESSAGE_BYTES } from "../../../shared/rpc/client/limits.ts";
import { RequestBudgets } from "../../../shared/rpc/server/request_budget.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { RpcServer } from "../../../shared/rpc/server/server.ts";
import { DelayedCommit } from "../delayed_commit.ts";
import { onlyFromHotspot } from "../hotspot_peers.ts";
import type { ProvisioningWay, WayDeps } from "../provisioning_way.ts";
import { provisioningService } from "./provisioning_service.ts";

/** Where the family's apps expect it. */
const PROVISIONING_PORT = 4772;
/** Descriptors; a connection over HTTP/1.1 takes three. Some phones, and no more. */
const CONNECTIONS = { total: 96, perAddress: 24 };
const KIB = 1024;
/** Requests that are not at their end. */
const OPEN = { perConnection: 256 * KIB, perAddress: 512 * KIB, total: 2 * KIB * KIB };

/**
 * The provisioning API over gRPC, gRPC-web and Connect: plaintext and without authentication, as
 * the family's apps need it. Who knows the hotspot's password is let in, and nobody else.
 *
 * @param tcpPort of the hotspot's address.
 */
export function apiWay(
  { clock, log }: Pick<WayDeps, "clock" | "log">,
  tcpPort: number = PROVISIONING_PORT,
): ProvisioningWay {
  return {
    name: "api",
    over: "hotspot",
    async start({ port, address }) {
      const commit = new DelayedCommit(port, clock, log);
      const server = await RpcServer.start({
        router: new RpcRouter().service(ProvisioningService, provisioningService(port, commit)),
        listen: { hostname: address, port: tcpPort },
        interceptors: [{ before: (call) => call.limitMessages?.(OPEN_MESSAGE_BYTES) }],
        limits: CONNECTIONS,
        budgets: new RequestBudgets({ open: OPEN, letIn: OPEN }),
        admit: onlyFromHotspot(address),
        report: (error, path, id) =>
          log.error("a call failed", { event: "call_failed", error, path, id }),
        onRefused: (from, reason) => log.debug("refused a connection", { from, reason }),
      });
      log.info("serving the provisioning API", { address, port: server.address.port });
      return {
        [Symbol.asyncDispose]: async () => {
          commit[Symbol.dispose]();
          await server.close({ graceMs: 500 });
        },
      };
    },
  };
}
