/** A Debian package that goes into images. */
export interface PinnedPackage {
  /** `base` is in every image, `tools` in those where programs of others run. */
  readonly layer: "base" | "tools";
  /** `amd64`, `arm64` */
  readonly architecture: string;
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
}

export interface ImagePins {
  /** When they were chosen; time of all files of theirs. */
  readonly time: Date;
  readonly packages: readonly PinnedPackage[];
}

/** What `base` needs: the C and C++ libraries of the runtime, and names of services. */
export const BASE = [
  "base-files",
  "ca-certificates",
  "libc6",
  "libgcc-s1",
  "libstdc++6",
  "netbase",
];

/** What modules and training scripts expect, with what it needs. */
export const TOOLS = [
  ...["bash", "coreutils", "dash", "findutils", "grep", "gzip", "sed", "tar"],
  ...["python3", "python3-pip", "python3-setuptools", "python3-venv", "python3-wheel"],
];

/** Needed by none of the above once they are unpacked. */
export const LEFT_OUT = new Set([
  "debconf",
  "debianutils",
  "dpkg",
  "gcc-12-base",
  "mawk",
  "openssl",
]);

const HEADER = `# Debian packages in the images, by layer, processor, name, version and SHA-256.
# make images PIN=1 writes this file with the newest versions that apt offers.
`;

/** @throws {Error} naming the first line that is wrong */
export function readPins(text: string): ImagePins {
  let time: Date | undefined;
  const packages: PinnedPackage[] = [];
  for (const line of text.split("\n").filter((line) => line !== "" && !line.startsWith("#"))) {
    const [layer = "", second = "", name = "", version = "", sha256 = ""] = line.split(" ");
    if (layer === "date") time = new Date(`${second}T00:00:00Z`);
    else if ((layer === "base" || layer === "tools") && /^[0-9a-f]{64}$/.test(sha256)) {
      packages.push({ layer, architecture: second, name, version, sha256 });
    } else throw new Error(`packages.txt: this line is no pin: ${line}`);
  }
  if (time === undefined || packages.length === 0) throw new Error("packages.txt has no pins");
  return { time, packages };
}

/** The file that {@link readPins} reads. */
export function pinsText({ time, packages }: ImagePins): string {
  const lines = packages.map(({ layer, architecture, name, version, sha256 }) =>
    `${layer} ${architecture} ${name} ${version} ${sha256}\n`
  );
  return `${HEADER}date ${time.toISOString().slice(0, 10)}\n${lines.join("")}`;
}
