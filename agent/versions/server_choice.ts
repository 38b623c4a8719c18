import { fileURLToPath } from "node:url";
import type { UpdateTarget } from "../settings/device_config.ts";
import type { InstalledVersion } from "../state/agent_state.ts";

/** What to do about the version that the cloud names. */
export type ServerChoice =
  /** The cloud names none: what is there stays. */
  | { readonly kind: "keep" }
  /** A program on this computer. */
  | { readonly kind: "local"; readonly version: InstalledVersion }
  /** Cannot be had; what is there stays. */
  | { readonly kind: "refused"; readonly reason: string };

/** Decides from the cloud's answer alone; whether a file is there is asked afterwards. */
export function chooseServer(target: UpdateTarget | undefined): ServerChoice {
  if (!target) return { kind: "keep" };
  const url = URL.parse(target.url);
  if (!url) return { kind: "refused", reason: `${described(target)} has no usable address` };
  switch (url.protocol) {
    case "file:":
      return localFile(target, url);
    case "http:":
    case "https:":
      return {
        kind: "refused",
        reason: `${described(target)} would have to be downloaded from ${url.origin}, which is ` +
          "not supported in this version yet; file:///PATH of a program is",
      };
    default:
      return { kind: "refused", reason: `${described(target)} has an address of unknown kind` };
  }
}

function localFile(target: UpdateTarget, url: URL): ServerChoice {
  try {
    const path = fileURLToPath(url);
    return { kind: "local", version: { version: target.version, url: target.url, path } };
  } catch {
    return {
      kind: "refused",
      reason: `${described(target)} must be the absolute path of a program, file:///PATH`,
    };
  }
}

function described({ version }: UpdateTarget): string {
  return version === "customURL" ? "the machine-server address" : `machine-server ${version}`;
}

/** The name by which a version is told to the cloud. */
export function versionName({ version, url }: InstalledVersion): string {
  return version === "customURL" ? `${version}+${url}` : version;
}

export function isSameVersion(a: InstalledVersion, b: InstalledVersion): boolean {
  return a.version === b.version && a.url === b.url && a.path === b.path;
}
