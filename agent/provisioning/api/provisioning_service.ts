import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CloudConfig,
  NetworkInfoSchema,
  ProvisioningService,
} from "../../../shared/gen/viam/provisioning/v1/provisioning_pb.ts";
import { toChosenCredentials } from "../chosen_credentials.ts";
import type { DelayedCommit } from "../delayed_commit.ts";
import {
  type ConnectionAttempt,
  type NetworkSecurity,
  ProvisioningInputError,
  type ProvisioningPort,
  type VisibleNetwork,
} from "../provisioning_port.ts";

/** As the family's apps know them; "-" is a network without a password. */
const SECURITY: Readonly<Record<NetworkSecurity, string>> = {
  open: "-",
  wep: "WEP",
  wpa2: "WPA2",
  wpa3: "WPA3",
  enterprise: "802.1x",
};

/**
 * `viam.provisioning.v1.ProvisioningService`. Every call counts as activity of a person. What the
 * setters were given is tried after ExitProvisioning.
 */
export function provisioningService(
  port: ProvisioningPort,
  commit: Pick<DelayedCommit, "schedule">,
): ServiceImpl<typeof ProvisioningService> {
  const asked = <In, Out>(run: (request: In) => Out) => (request: In): Out => {
    port.userActive();
    try {
      return run(request);
    } catch (error) {
      if (!(error instanceof ProvisioningInputError)) throw error;
      throw invalid(error.message);
    }
  };
  return {
    getSmartMachineStatus: asked(() => {
      const { fragmentId, model, manufacturer, ...status } = port.status();
      // By the published form the call empties the list.
      port.clearErrors();
      return {
        provisioningInfo: { fragmentId, model, manufacturer },
        hasSmartMachineCredentials: status.hasCredentials,
        isOnline: status.isOnline,
        ...(status.lastAttempt ? { latestConnectionAttempt: attemptInfo(status.lastAttempt) } : {}),
        errors: [...status.errors],
        agentVersion: status.agentVersion,
      };
    }),
    setNetworkCredentials: asked(({ type, ssid, psk }) => {
      if (type !== "wifi" && type !== "") {
        throw invalid(`the network type ${JSON.stringify(type)} cannot be set up; use "wifi"`);
      }
      const bytes = new TextEncoder().encode(ssid);
      const seen = port.networks().find((network) => network.ssid === ssid);
      const chosen = seen?.ssidBytes ?? bytes;
      if (chosen.length < 1 || chosen.length > 32) {
        throw invalid(`ssid must have 1 to 32 bytes, not ${chosen.length}`);
      }
      port.stageNetwork({ ssid: chosen, psk, isHidden: seen === undefined });
      return {};
    }),
    setSmartMachineCredentials: asked(({ cloud }) => {
      if (!cloud) throw invalid("the request needs a cloud with app_address, id and secret");
      port.stageCredentials(toChosenCredentials({ cloud: asFile(cloud) }));
      return {};
    }),
    getNetworkList: asked(() => {
      port.requestScan();
      const { lastAttempt } = port.status();
      return { networks: port.networks().map((network) => networkInfo(network, lastAttempt)) };
    }),
    exitProvisioning: asked(() => {
      commit.schedule();
      return {};
    }),
  };
}

/** In the form of the credentials file. */
function asFile({ id, secret, appAddress, apiKey }: CloudConfig): Record<string, unknown> {
  return {
    id,
    app_address: appAddress,
    ...(secret === "" ? {} : { secret }),
    ...(apiKey ? { api_key: { id: apiKey.id, key: apiKey.key } } : {}),
  };
}

function networkInfo(
  network: VisibleNetwork,
  lastAttempt: ConnectionAttempt | undefined,
): MessageInitShape<typeof NetworkInfoSchema> {
  const { ssid, signal, security } = network;
  const { result, error = "" } = lastAttempt?.ssid === ssid ? lastAttempt : {};
  const connected = result === "connected";
  return { type: "wifi", ssid, signal, security: SECURITY[security], connected, lastError: error };
}

function attemptInfo(attempt: ConnectionAttempt): MessageInitShape<typeof NetworkInfoSchema> {
  const { ssid, signal, result, error } = attempt;
  return {
    type: "wifi",
    ssid,
    signal,
    security: SECURITY[attempt.security],
    connected: result === "connected",
    lastError: error ?? "",
  };
}

const invalid = (message: string) => new ConnectError(message, Code.InvalidArgument);
