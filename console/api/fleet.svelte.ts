import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Organization } from "../../shared/gen/viam/app/v1/app_pb.ts";
import {
  type FleetMachine as Message,
  FleetMachineState,
  type WatchFleetResponse,
} from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { app, consoleApi } from "./clients.ts";
import { follow } from "./follow.svelte.ts";
import { FLEET_SILENCE_MS } from "./silence.ts";

/** A machine of the fleet. */
export interface FleetMachine {
  readonly id: string;
  readonly name: string;
  readonly locationId: string;
  readonly location: string;
  readonly partId: string;
  readonly state: "online" | "offline" | "awaiting-setup";
  readonly lastSeen: Date | undefined;
  readonly serverVersion: string;
  readonly agentVersion: string;
  readonly platform: string;
  readonly tags: readonly string[];
  /** Why its newest configuration is not applied; empty: it is. */
  readonly configError: string;
  readonly unhealthy: number;
  readonly canManage: boolean;
  /** WGS 84, degrees; left out: it says no place. */
  readonly position?: { readonly latitude: number; readonly longitude: number } | undefined;
}

const KEPT_ORGANIZATION = "organization";

/** The machines of one organisation, kept up to date by push, for all pages. */
class Fleet {
  organizations = $state.raw<readonly Organization[]>([]);
  organizationId = $state("");
  /** Path of the organisation's logo; empty: it has none. */
  logo = $state("");
  /** By id; a new map at every change. */
  machines = $state.raw<ReadonlyMap<string, FleetMachine>>(new Map());
  /** Every machine has come. */
  isComplete = $state(false);
  error = $state.raw<unknown>(undefined);
  #stop: (() => void) | undefined;

  /** Looks up the viewer's organisations and follows one; the one that was shown last, if it is there. */
  async start(): Promise<void> {
    this.error = undefined;
    try {
      const { organizations } = await app.listOrganizations({});
      this.organizations = organizations;
      const kept = localStorage.getItem(KEPT_ORGANIZATION);
      const one = organizations.find(({ id }) => id === kept) ?? organizations[0];
      if (one) this.choose(one.id);
      else this.isComplete = true;
    } catch (error) {
      this.error = error;
    }
  }

  /** Shows the machines of an organisation. */
  choose(organizationId: string): void {
    this.stop();
    this.organizationId = organizationId;
    localStorage.setItem(KEPT_ORGANIZATION, organizationId);
    app.organizationGetLogo({ orgId: organizationId }).then(({ url }) => {
      if (organizationId === this.organizationId) this.logo = url && new URL(url).pathname;
    }, () => undefined /* The product's own mark stays. */);
    let next = new Map<string, FleetMachine>();
    let isFirst = true;
    this.#stop = follow<WatchFleetResponse>({
      silenceMs: FLEET_SILENCE_MS,
      open: (signal) => {
        // After a break everything is sent again; until all is there the old list stays.
        next = new Map();
        isFirst = true;
        return consoleApi.watchFleet({ organizationId }, { signal, timeoutMs: 0 });
      },
      message: ({ machines, removedIds, complete }) => {
        if (machines.length + removedIds.length === 0 && !isFirst) return;
        for (const machine of machines) next.set(machine.id, fromMessage(machine));
        for (const id of removedIds) next.delete(id);
        if (!complete) return;
        isFirst = false;
        this.machines = new Map(next);
        this.isComplete = true;
        this.error = undefined;
      },
      failed: (error) => (this.error = error),
    });
  }

  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.logo = "";
    this.machines = new Map();
    this.isComplete = false;
    this.error = undefined;
  }
}

const STATES: Readonly<Record<FleetMachineState, FleetMachine["state"]>> = {
  [FleetMachineState.UNSPECIFIED]: "offline",
  [FleetMachineState.ONLINE]: "online",
  [FleetMachineState.OFFLINE]: "offline",
  [FleetMachineState.AWAITING_SETUP]: "awaiting-setup",
};

function fromMessage(message: Message): FleetMachine {
  return {
    id: message.id,
    name: message.name,
    locationId: message.locationId,
    location: message.locationName,
    partId: message.mainPartId,
    state: STATES[message.state],
    lastSeen: message.lastSeen && timestampDate(message.lastSeen),
    serverVersion: message.serverVersion,
    agentVersion: message.agentVersion,
    platform: message.platform,
    tags: message.tags,
    configError: message.configError,
    unhealthy: message.unhealthyResources,
    canManage: message.canManage,
    position: message.position &&
      { latitude: message.position.latitude, longitude: message.position.longitude },
  };
}

export const fleet = new Fleet();
