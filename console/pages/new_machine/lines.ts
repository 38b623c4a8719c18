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
