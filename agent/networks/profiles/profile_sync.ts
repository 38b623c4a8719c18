import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { NetworkDevice, NetworkManager, OwnProfile } from "../manager/network_manager.ts";
import { type ManagedNetwork, profileOf, type ProfileSettings } from "../manager/profile.ts";
import { variant } from "../../dbus/system_bus.ts";
import { type KeptProfile, type NetworkStore, NOTHING_LEARNED } from "../store/network_store.ts";
import {
  isConfigured,
  networkDigest,
  profileDigest,
  removalDigest,
  uselessBecause,
} from "./wanted_networks.ts";

export interface ProfileSyncOptions {
  readonly manager: NetworkManager;
  readonly store: Pick<NetworkStore, "profiles" | "saveProfile" | "forgetProfile">;
  /** Whether the machine is online now. */
  readonly isOnline: () => boolean;
  /**
   * Resolves when the machine is online by fresh evidence, or not within `ms`.
   *
   * @returns why it is not; undefined when it is.
   */
  readonly confirmOnline: (ms: number, signal: AbortSignal) => Promise<string | undefined>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A change has so long to show that the machine is still, or again, online. */
const CONFIRM_MS = 60_000;
/** NetworkManager goes back automatically when nobody kept the change until then. */
const CHECKPOINT_S = CONFIRM_MS / 1_000 + 30;
/** A change that the agent, or the host, did not survive so often is abandoned. */
const MOST_ATTEMPTS = 3;
/** NMDeviceState: there is a carrier, and nothing is connected. */
const DISCONNECTED = 30;

interface Step {
  readonly label: string;
  /** What is wanted, as the store keeps it. */
  readonly digest: string;
  readonly existing: OwnProfile | undefined;
  readonly known: KeptProfile | undefined;
}

interface Change extends Step {
  readonly network: ManagedNetwork;
  readonly settings: ProfileSettings;
}

interface Removal extends Step {
  readonly existing: OwnProfile;
}

interface Plan {
  readonly changes: readonly Change[];
  readonly removals: readonly Removal[];
}

/**
 * Keeps NetworkManager's profiles of ours as `additional_networks` says, and touches no other.
 *
 * While the machine is online a change is made in memory, under a checkpoint of NetworkManager: it
 * goes to disk only when the machine was found online with it. Otherwise everything is as before,
 * by us, by NetworkManager when we are gone, and by the disk after a power cut. A change that cost
 * the connection is not tried again until the settings say something else. While it is offline,
 * nothing that may have worked is taken away: a change whose trial was cut off, and a removal, wait.
 */
export class ProfileSync {
  readonly #options: ProfileSyncOptions;
  #problems: readonly string[] = [];

  constructor(options: ProfileSyncOptions) {
    this.#options = options;
  }

  /** Which networks are not in use and why, each one sentence. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /**
   * @param isSettled false: it is too early to know whether the machine is offline.
   * @returns false: something waits until the machine is online.
   */
  async run(
    wanted: readonly ManagedNetwork[],
    { isSettled }: { readonly isSettled: boolean },
    signal: AbortSignal,
  ): Promise<boolean> {
    const plan = await this.#plan(wanted);
    if (plan.changes.length === 0 && plan.removals.length === 0) return true;
    if (this.#options.isOnline()) {
      await this.#applyGuarded(plan, signal);
      return true;
    }
    // A new WiFi can wait for its turn on the disk; a cable that works would be taken over.
    const waits = (change: Change) =>
      isSettled
        ? change.existing !== undefined && isBegun(change)
        : change.existing !== undefined || change.network.type === "wired";
    const waiting = plan.changes.filter(waits);
    await this.#keep({ changes: plan.changes.filter((change) => !waits(change)), removals: [] });
    if (isSettled) {
      this.#problems = [
        ...this.#problems,
        ...[...waiting, ...plan.removals].map(({ label }) =>
          `additional_networks.${label} stays as it was until the machine is online`
        ),
      ];
    }
    return waiting.length === 0 && plan.removals.length === 0;
  }

  async #plan(wanted: readonly ManagedNetwork[]): Promise<Plan> {
    const { manager, store } = this.#options;
    const profiles = (await manager.ownProfiles()).filter(({ label }) => isConfigured(label));
    const known = store.profiles();
    const changes: Change[] = [];
    const problems: string[] = [];
    const used = new Set<OwnProfile>();
    for (const network of wanted) {
      const { label } = network;
      const existing = profiles.find((profile) => profile.label === label);
      const before = known.get(label);
      const digest = networkDigest(network);
      const useless = uselessBecause(network);
      const failure = failureOf(digest, before);
      if (useless !== undefined || failure !== undefined) {
        problems.push(notInUse(label, useless ?? failure));
        if (failure !== undefined && existing) used.add(existing);
        continue;
      }
      if (existing) used.add(existing);
      const isSame = existing !== undefined && before?.wanted === digest &&
        before.kept === profileDigest(existing.settings);
      if (isSame) continue;
      const settings = profileOf(network);
      changes.push({ label, network, digest, settings, existing, known: before });
    }
    const removals: Removal[] = [];
    const digest = removalDigest(wanted);
    for (const existing of profiles.filter((profile) => !used.has(profile))) {
      const { label } = existing;
      const removal = { label, digest, existing, known: known.get(label) };
      const failure = failureOf(digest, removal.known);
      if (failure === undefined) removals.push(removal);
      else problems.push(keptYet(label, failure));
    }
    const labels = new Set([...wanted, ...profiles].map(({ label }) => label));
    for (const label of known.keys()) {
      if (isConfigured(label) && !labels.has(label)) store.forgetProfile(label);
    }
    this.#problems = problems;
    return { changes, removals };
  }

  async #applyGuarded(plan: Plan, signal: AbortSignal): Promise<void> {
    const { manager, confirmOnline, log } = this.#options;
    const changes = plan.changes.filter((change) => this.#begin(change, notInUse));
    const removals = plan.removals.filter((removal) => this.#begin(removal, keptYet));
    if (changes.length === 0 && removals.length === 0) return;
    const checkpoint = await manager.checkpoint(CHECKPOINT_S);
    let reason: string | undefined;
    try {
      const devices = await manager.devices();
      for (const change of changes) await this.#tryOut(change, devices);
      for (const { existing } of removals) await this.#tryWithout(existing, devices);
      reason = await confirmOnline(CONFIRM_MS, signal);
      if (reason === undefined && !await manager.keepChanges(checkpoint)) {
        reason = "NetworkManager had taken the change back already";
      }
    } catch (error) {
      await manager.rollBack(checkpoint);
      if (signal.aborted) throw error;
      reason = toError(error).message;
      return this.#refuseAll({ changes, removals }, reason);
    }
    if (reason === undefined) return await this.#keep({ changes, removals });
    await manager.rollBack(checkpoint);
    log.warn("changed networks cost the connection; they were taken back", {
      event: "network_taken_back",
      reason,
    });
    this.#refuseAll({ changes, removals }, reason);
  }

  /** On disk before anything happens: a change that ends the agent is not tried permanently. */
  #begin(step: Step, say: Saying): boolean {
    const { known, digest } = step;
    const attempts = (known?.wanted === digest ? known.attempts : 0) + 1;
    if (attempts > MOST_ATTEMPTS) {
      this.#refuse(step, `machine-agent exited ${MOST_ATTEMPTS} times while it was tried`, say);
      return false;
    }
    this.#save(step, { kept: "", attempts, failure: "" });
    return true;
  }

  async #tryOut({ network, settings, existing }: Change, devices: readonly NetworkDevice[]) {
    const { manager } = this.#options;
    const path = existing?.path ?? await manager.addProfile(settings, false);
    if (existing) await manager.updateProfile(path, settings, false);
    const device = await this.#deviceToSwitch(network, path, devices);
    if (device) await manager.activate(path, device);
  }

  /** Where a change must take effect now, and not at the next connection. */
  async #deviceToSwitch(
    network: ManagedNetwork,
    path: string,
    devices: readonly NetworkDevice[],
  ): Promise<NetworkDevice | undefined> {
    const { manager } = this.#options;
    for (const device of devices) {
      if (device.type !== network.type) continue;
      if (device.active === undefined) continue;
      const active = await manager.activeProfile(device.active);
      if (active === path) return device;
      // A wired interface that the settings name is to be as they say; WiFi stays while it works.
      const isNamed = network.type === "wired" && network.interface === device.interface;
      if (isNamed && device.state > DISCONNECTED && !await this.#isOurs(active, network.priority)) {
        return device;
      }
    }
    return undefined;
  }

  async #isOurs(path: string | undefined, priority: number): Promise<boolean> {
    const own = (await this.#options.manager.ownProfiles()).find((each) => each.path === path);
    const theirs = own?.settings.connection?.["autoconnect-priority"]?.value;
    return own !== undefined && Number(theirs ?? 0) >= priority;
  }

  async #tryWithout(profile: OwnProfile, devices: readonly NetworkDevice[]): Promise<void> {
    const { manager } = this.#options;
    const { connection = {}, ...rest } = profile.settings;
    const quiet = { ...connection, autoconnect: variant("b", false) };
    await manager.updateProfile(profile.path, { ...rest, connection: quiet }, false);
    for (const device of devices) {
      if (device.active === undefined) continue;
      if (await manager.activeProfile(device.active) !== profile.path) continue;
      await manager.deactivate(device.active);
      await manager.allowAutoconnect(device);
    }
  }

  /** Everything to disk. */
  async #keep({ changes, removals }: Plan): Promise<void> {
    const { manager, log } = this.#options;
    for (const change of changes) {
      const { label, settings, digest } = change;
      const own = (await manager.ownProfiles()).filter((profile) => profile.label === label);
      const [path] = own.map((profile) => profile.path);
      if (path === undefined) await manager.addProfile(settings, true);
      else await manager.updateProfile(path, settings, true);
      const now = (await manager.ownProfiles()).find((profile) => profile.label === label);
      const kept = now ? profileDigest(now.settings) : "";
      this.#save(change, { kept, attempts: 0, failure: "" });
      log.info("a network was set up", { label, isNew: path === undefined, digest });
    }
    for (const { label, existing } of removals) {
      await manager.deleteProfile(existing.path);
      this.#options.store.forgetProfile(label);
      log.info("a network was removed", { label });
    }
  }

  #refuseAll({ changes, removals }: Plan, reason: string): void {
    for (const change of changes) this.#refuse(change, reason, notInUse);
    for (const removal of removals) this.#refuse(removal, reason, keptYet);
  }

  #refuse(step: Step, reason: string, say: Saying): void {
    this.#save(step, { kept: "", attempts: 0, failure: reason });
    const problem = say(step.label, reason);
    this.#options.log.error(problem, { event: "network_refused" });
    this.#problems = [...this.#problems, problem];
  }

  #save(
    { label, digest, known }: Step,
    rest: Pick<KeptProfile, "kept" | "attempts" | "failure">,
  ): void {
    const learned = known?.learned ?? NOTHING_LEARNED;
    this.#options.store.saveProfile({ label, wanted: digest, learned, ...rest });
  }
}

type Saying = (label: string, reason: string | undefined) => string;

const notInUse: Saying = (label, reason) => `additional_networks.${label} is not in use: ${reason}`;
const keptYet: Saying = (label, reason) =>
  `the network ${label} is kept, although additional_networks has it no more: ${reason}`;

/** Why a step is not taken any more; undefined: it may be. */
function failureOf(digest: string, known: KeptProfile | undefined): string | undefined {
  return known?.wanted === digest && known.failure !== "" ? known.failure : undefined;
}

/** It was begun and not ended: nobody knows whether the machine would be online with it. */
const isBegun = ({ digest, known }: Step) => known?.wanted === digest && known.attempts > 0;
