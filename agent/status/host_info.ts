import { create } from "@bufbuild/protobuf";
import { type HostInfo, HostInfoSchema } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";

const OS_RELEASE_FILES = ["/etc/os-release", "/usr/lib/os-release"];

// Names that the release lists of this protocol use.
const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64" };

/** What is reported to the cloud about this host. */
export function readHostInfo(): HostInfo {
  const { os, arch } = Deno.build;
  return create(HostInfoSchema, { platform: platformOf(os, arch), distro: readDistro() });
}

/** `linux/amd64` */
export function platformOf(os: string, arch: string): string {
  return `${os}/${ARCHITECTURES[arch] ?? arch}`;
}

/** `debian:12` from the text of an os-release file; empty when it does not say. */
export function distroOf(osRelease: string): string {
  const id = field(osRelease, "ID");
  return id === "" ? "" : [id, field(osRelease, "VERSION_ID")].filter(Boolean).join(":");
}

function field(osRelease: string, name: string): string {
  const value = new RegExp(`^${name}=(.*)$`, "m").exec(osRelease)?.[1]?.trim() ?? "";
  return /^(["']).*\1$/.test(value) ? value.slice(1, -1) : value;
}

function readDistro(): string {
  for (const path of OS_RELEASE_FILES) {
    try {
      return distroOf(Deno.readTextFileSync(path));
    } catch {
      // The next place, or a system that has none.
    }
  }
  return "";
}
