import type { RunProgram } from "../../../shared/base/process/run_program.ts";
import type { KeptOriginals } from "../originals/kept_originals.ts";
import { firstLine, type SystemOutcome } from "../outcomes/system_outcome.ts";
import { type Apt, AptError } from "./apt.ts";
import { PERIODIC_FILE, periodicText, UPGRADES_FILE, upgradesText } from "./apt_files.ts";
import { originPatterns, type Repository, type UpgradeKind } from "./origins.ts";

export interface UpgradesPlace {
  readonly originals: KeptOriginals;
  readonly apt: Apt;
  readonly run: RunProgram;
  /** Notified of what takes long. */
  readonly tell: (outcome: SystemOutcome) => void;
}

/** They start apt's fetching and installing. */
const TIMERS = ["apt-daily.timer", "apt-daily-upgrade.timer"] as const;

/**
 * Makes the system upgrade itself as `os_auto_upgrade_type` says. Empty touches nothing, also not
 * what was set before.
 *
 * @throws {AptError | FileError} one line for the operator; worth another try.
 */
export async function applyUpgrades(
  place: UpgradesPlace,
  type: string,
  signal: AbortSignal,
): Promise<SystemOutcome> {
  if (type === "") {
    return { state: "untouched", text: "the system's upgrades are left as they are" };
  }
  if (type !== "all" && type !== "security" && type !== "disable") {
    const text = `os_auto_upgrade_type ${type} has no effect: machine-agent starts no upgrades ` +
      "itself; use all, security or disable";
    return { state: "no-effect", text };
  }
  const { originals, apt } = place;
  if (!await apt.isHere(signal)) {
    signal.throwIfAborted();
    const text = `os_auto_upgrade_type ${type} has no effect on this host: it needs apt`;
    return { state: "no-effect", text };
  }
  if (type === "disable") {
    await originals.write(PERIODIC_FILE, periodicText(false));
    return { state: "applied", text: "automatic upgrades are off" };
  }
  return await applyKind(place, type, signal);
}

async function applyKind(
  place: UpgradesPlace,
  kind: UpgradeKind,
  signal: AbortSignal,
): Promise<SystemOutcome> {
  const { originals, apt, tell } = place;
  // Before the package comes, which switches upgrades on automatically.
  await originals.keep(PERIODIC_FILE);
  if (!await apt.isInstalled(signal)) {
    signal.throwIfAborted();
    tell({ state: "working", text: "unattended-upgrades is being installed" });
    await apt.install(signal);
  }
  // After it, so that what is put back belongs to the package that stays.
  const original = await originals.keep(UPGRADES_FILE);
  const patterns = originPatterns(await repositories(apt, signal), kind);
  if (patterns.length === 0) {
    throw new AptError(
      kind === "security"
        ? "no repository has security in its codename, so there is nothing to upgrade from"
        : "apt knows no repository to upgrade from",
    );
  }
  const options = original === undefined ? [] : await apt.optionsOf(original, signal);
  await originals.write(UPGRADES_FILE, upgradesText(patterns, options));
  await originals.write(PERIODIC_FILE, periodicText(true));
  await switchTimersOn(place, signal);
  const of = patterns.length === 1 ? "1 repository" : `${patterns.length} repositories`;
  const what = kind === "all" ? "all packages are upgraded" : "security updates are installed";
  return { state: "applied", text: `${what} automatically, from ${of}` };
}

/** A fresh image may have no lists yet. */
async function repositories(apt: Apt, signal: AbortSignal): Promise<Repository[]> {
  const known = await apt.repositories(signal);
  if (known.length > 0) return known;
  await apt.update(signal);
  return await apt.repositories(signal);
}

async function switchTimersOn(
  { originals, run }: UpgradesPlace,
  signal: AbortSignal,
): Promise<void> {
  for (const timer of TIMERS) {
    const { stdout } = await run("systemctl", ["is-enabled", timer], undefined, signal);
    const state = stdout.trim();
    if (state.startsWith("masked")) {
      throw new AptError(`${timer} is masked, so nothing is upgraded; systemctl unmask ${timer}`);
    }
    if (state !== "disabled") continue;
    await originals.switchesOn(timer);
    const answer = await run("systemctl", ["enable", "--now", timer], undefined, signal);
    if (answer.code !== 0) {
      throw new AptError(`${timer} cannot be switched on: ${firstLine(answer.stderr)}`);
    }
  }
}
