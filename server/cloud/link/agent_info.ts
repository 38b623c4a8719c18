/** What the server notifies the cloud about its host with each request for the configuration. */
import { create } from "@bufbuild/protobuf";
import { hostname, networkInterfaces } from "node:os";
import { type AgentInfo, AgentInfoSchema } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { BuildInfo } from "../../../shared/base/build_info/build_info.ts";
import { announcedVersion } from "../../../shared/base/build_info/family_version.ts";

const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64" };

export function agentInfo(build: Pick<BuildInfo, "version" | "commit">): AgentInfo {
  const { os, arch } = Deno.build;
  const ips = Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])
    .filter((entry) => !entry.internal).map((entry) => entry.address);
  return create(AgentInfoSchema, {
    host: hostname(),
    os,
    ips,
    version: announcedVersion(build.version),
    gitRevision: build.commit,
    platform: `${os}/${ARCHITECTURES[arch] ?? arch}`,
  });
}
