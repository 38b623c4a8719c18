import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { DBusCallError } from "../../dbus/system_bus.ts";
import type { ProfileSettings } from "./profile.ts";

const ROOT = "/org/freedesktop/NetworkManager";
/** NM_SETTINGS_ADD_CONNECTION2_FLAG_TO_DISK. */
const TO_DISK = 1;

interface FakeProfile {
  readonly settings: ProfileSettings;
  /** The disk has it as it is. */
  readonly isKept: boolean;
}

interface Snapshot {
  readonly profiles: ReadonlyMap<string, FakeProfile>;
  readonly disk: ReadonlyMap<string, ProfileSettings>;
  readonly onRollBack: () => void;
  readonly timer: Timer | undefined;
}

/** NetworkManager's profiles, in memory and on disk, and its checkpoints of them. */
export class FakeProfiles {
  readonly all = new Map<string, FakeProfile>();
  readonly disk = new Map<string, ProfileSettings>();
  readonly checkpoints = new Map<string, Snapshot>();
  #count = 0;

  /** @param clock lets checkpoints run out; without it they wait permanently. */
  constructor(private readonly clock: Clock | undefined) {}

  get(path: string): FakeProfile {
    const profile = this.all.get(path);
    if (profile) return profile;
    throw new DBusCallError("org.freedesktop.DBus.Error.UnknownMethod", `no ${path}`);
  }

  add(settings: ProfileSettings, flags: number): string {
    const path = `${ROOT}/Settings/${++this.#count}`;
    this.#put(path, settings, flags);
    return path;
  }

  update(path: string, settings: ProfileSettings, flags: number): void {
    this.get(path);
    this.#put(path, settings, flags);
  }

  delete(path: string): void {
    this.get(path);
    this.all.delete(path);
    this.disk.delete(path);
  }

  /** @param onRollBack puts back what is no profile. */
  checkpoint(seconds: number, onRollBack: () => void): string {
    if (this.checkpoints.size > 0) {
      const text = "a checkpoint for this device exists";
      throw new DBusCallError("org.freedesktop.NetworkManager.InvalidArguments", text);
    }
    const path = `${ROOT}/Checkpoint/${++this.#count}`;
    const timer = this.clock?.setTimer(seconds * 1_000, () => this.rollBack(path));
    const profiles = new Map(this.all);
    const disk = new Map(this.disk);
    this.checkpoints.set(path, { profiles, disk, onRollBack, timer });
    return path;
  }

  keep(path: string): void {
    this.#end(path);
  }

  rollBack(path: string): void {
    const { profiles, disk, onRollBack } = this.#end(path);
    replace(this.all, profiles);
    replace(this.disk, disk);
    onRollBack();
  }

  /** Only what is on disk is there afterwards. */
  cutPower(): void {
    for (const path of [...this.checkpoints.keys()]) this.#end(path);
    this.all.clear();
    for (const [path, settings] of this.disk) this.all.set(path, { settings, isKept: true });
  }

  #put(path: string, settings: ProfileSettings, flags: number): void {
    const isKept = flags === TO_DISK;
    this.all.set(path, { settings, isKept });
    if (isKept) this.disk.set(path, settings);
  }

  #end(path: string): Snapshot {
    const snapshot = this.checkpoints.get(path);
    if (snapshot === undefined) {
      throw new DBusCallError("org.freedesktop.NetworkManager.InvalidArguments", "no checkpoint");
    }
    snapshot.timer?.cancel();
    this.checkpoints.delete(path);
    return snapshot;
  }
}

function replace<T>(map: Map<string, T>, by: ReadonlyMap<string, T>): void {
  map.clear();
  for (const [key, value] of by) map.set(key, value);
}
