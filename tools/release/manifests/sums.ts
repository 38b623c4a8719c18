/** A compiled program in a download folder. */
export interface Download {
  /** `machine-server` */
  readonly program: string;
  /** `linux/amd64` */
  readonly platform: string;
  readonly url: string;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
}

/** What a package manager's file is made of. */
export interface ManifestInput {
  readonly version: string;
  /** Address of the download folder, without a slash at its end. */
  readonly base: string;
  readonly downloads: readonly Download[];
  /** Package of the agent for Windows, when there is one. */
  readonly msi: { readonly url: string; readonly sha256: string } | undefined;
}

/** One line for people, and how `--version` is written, for programs that package managers bring. */
export const TITLES: Readonly<
  Record<string, { readonly text: string; readonly versionFlag: string }>
> = {
  "machine": { text: "Command line for a fleet of machines", versionFlag: "--version" },
  "machine-server": {
    text: "Runs one machine's resources, modules, data and logs",
    versionFlag: "-version",
  },
  "machine-cloud": { text: "Control plane for a fleet of machines", versionFlag: "--version" },
};

/**
 * What a SHA256SUMS of a download folder names.
 *
 * @param base where the folder is served: `https://downloads.example`
 * @throws {Error} for an address that packages cannot be fetched from
 */
export function readSums(sums: string, version: string, base: string): ManifestInput {
  const address = checkBase(base);
  const found = sums.split("\n").filter(Boolean).map((line) => {
    const [, sha256, path] = /^([0-9a-f]{64}) {2}(\S+)$/.exec(line) ?? [];
    if (sha256 === undefined || path === undefined) throw new Error(`no line of sums: ${line}`);
    return { path, sha256, url: `${address}/${encodeURI(path)}` };
  });
  const downloads = found.flatMap(({ path, sha256, url }) => {
    const [, platform, file] =
      /^[a-z]+\/[^/]+\/((?:linux|windows|darwin)\/[a-z0-9]+)\/([\w-]+)(?:\.exe)?$/.exec(path) ?? [];
    if (platform === undefined || file === undefined) return [];
    return [{ program: file, platform, url, sha256 }];
  });
  const msi = found.find(({ path }) => path.endsWith(".msi"));
  return { version, base: address, downloads, msi: msi && { url: msi.url, sha256: msi.sha256 } };
}

/** @returns the address without a slash at its end. @throws {Error} for one that is no address */
export function checkBase(base: string): string {
  const url = URL.parse(base);
  if (url?.protocol !== "https:" || url.search !== "" || url.hash !== "") {
    throw new Error(`URL=${base} must look like https://downloads.example`);
  }
  return base.replace(/\/+$/, "");
}

/** A program's download for a platform. */
export function downloadOf(
  { downloads }: ManifestInput,
  program: string,
  platform: string,
): Download | undefined {
  return downloads.find((each) => each.program === program && each.platform === platform);
}
