/** How many machines run a version of a program. */
export interface RunningVersion {
  readonly version: string;
  readonly machines: number;
}

const collator = new Intl.Collator("en", { numeric: true });

/** The versions of machines, newest first; machines that did not tell are left out. */
export function runningVersions(told: Iterable<string>): RunningVersion[] {
  const counts = new Map<string, number>();
  for (const version of told) {
    if (version !== "") counts.set(version, (counts.get(version) ?? 0) + 1);
  }
  return [...counts].map(([version, machines]) => ({ version, machines }))
    .toSorted((a, b) => collator.compare(b.version, a.version));
}

/** What a file reports of a release: empty where it does not. */
export interface GuessedRelease {
  readonly binary: "machine-server" | "machine-agent" | "";
  readonly version: string;
  readonly platform: string;
}

/** So many bytes of a file are enough for {@link guessRelease}. */
export const HEAD_BYTES = 20;
/** `e_machine` of the header of an ELF file. */
const ELF: Readonly<Record<number, string>> = {
  62: "linux/amd64",
  183: "linux/arm64",
  40: "linux/arm32v7",
};

/** What a file is, by its name and its first bytes. */
export function guessRelease(name: string, head: Uint8Array): GuessedRelease {
  const binary = (["machine-server", "machine-agent"] as const).find((each) => name.includes(each));
  const version = /(?:^|[^\d.])(\d+\.\d+\.\d+(?:-(?:rc|beta|alpha|dev)\.?\d+)?)(?=[^\d.]|\.\D|$)/
    .exec(name)?.[1];
  return { binary: binary ?? "", version: version ?? "", platform: platformOf(head) };
}

function platformOf(head: Uint8Array): string {
  if (head[0] === 0x4d && head[1] === 0x5a) return "windows/amd64";
  const isElf = head[0] === 0x7f && head[1] === 0x45 && head[2] === 0x4c && head[3] === 0x46;
  return isElf ? ELF[(head[18] ?? 0) + 256 * (head[19] ?? 0)] ?? "" : "";
}
