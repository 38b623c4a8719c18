import { Channel } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";

/** What a machine is installed with. */
export interface InstallFacts {
  /** Where machines reach the cloud: `https://cloud.example`. */
  readonly cloud: string;
  readonly keyId: string;
  readonly key: string;
  readonly partId: string;
}

/** One line for a shell of Linux. */
export function linuxLine({ cloud, keyId, key, partId }: InstallFacts): string {
  return `curl -fsSL ${cloud}/install.sh -o install.sh && sudo MACHINE_CLOUD_ADDRESS=${cloud} ` +
    `MACHINE_API_KEY_ID=${keyId} MACHINE_API_KEY=${key} MACHINE_PART_ID=${partId} sh install.sh`;
}

/** One line for a PowerShell. */
export function windowsLine({ cloud, keyId, key, partId }: InstallFacts): string {
  return `$env:MACHINE_CLOUD_ADDRESS='${cloud}'; $env:MACHINE_API_KEY_ID='${keyId}'; ` +
    `$env:MACHINE_API_KEY='${key}'; $env:MACHINE_PART_ID='${partId}'; ` +
    `iwr -UseBasicParsing ${cloud}/install.ps1 -OutFile install.ps1; ` +
    `powershell -ExecutionPolicy Bypass -File install.ps1`;
}

/** What a machine signs in with, as its credentials file and its provisioning page take it. */
export function credentialsText(cloud: string, partId: string, secret: string): string {
  const { protocol, hostname, port } = new URL(cloud);
  const host = `${hostname}:${port || (protocol === "https:" ? "443" : "80")}`;
  return JSON.stringify({
    cloud: { app_address: `${protocol}//${host}`, id: partId, secret },
  });
}

/** The installer takes a cloud without TLS on the cloud's own host only. */
export function needsTls(cloud: string): boolean {
  const { protocol, hostname } = new URL(cloud);
  return protocol !== "https:" && !["localhost", "127.0.0.1"].includes(hostname);
}

/** The cloud is called what only its own host calls it so. */
export function isLocal(cloud: string): boolean {
  const { hostname } = new URL(cloud);
  return hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.");
}

/** What a release is, as far as an installer looks at it. */
export interface AgentRelease {
  readonly binary: string;
  readonly channel: Channel;
  readonly withdrawnAt?: unknown;
  readonly files: readonly { readonly platform: string }[];
}

/** The installers find an agent for this system: they take the newest stable one. */
export function hasAgent(releases: readonly AgentRelease[], system: "linux" | "windows"): boolean {
  return releases.some(({ binary, channel, withdrawnAt, files }) =>
    binary === "machine-agent" && channel === Channel.STABLE && withdrawnAt === undefined &&
    files.some(({ platform }) => platform.startsWith(`${system}/`))
  );
}
