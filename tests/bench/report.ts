import { cpus, totalmem } from "node:os";
import process from "node:process";

/** One figure, as `make bench` prints it: one JSON object a line. */
export interface Figure {
  /** For example `save_to_visible_p99`. */
  name: string;
  value: number;
  /** `ms`, `MiB`, `calls/s` or `lines/s`. */
  unit: string;
  /** Short hash, with `-dirty` when files were changed. */
  commit: string;
  /** Day, UTC. */
  date: string;
  /** Processors, memory and system. */
  machine: string;
}

/** Prints figures that share commit, date and machine. */
export class Reporter {
  private constructor(
    private readonly about: Pick<Figure, "commit" | "date" | "machine">,
    private readonly suffix: string,
  ) {}

  /** @param suffix of the names of all figures */
  static async create(suffix = ""): Promise<Reporter> {
    const model = cpus()[0]?.model.trim() ?? "unknown processor";
    const memory = Math.round(totalmem() / 2 ** 30);
    const { os, arch } = Deno.build;
    return new Reporter({
      commit: await commit(),
      date: new Date().toISOString().slice(0, 10),
      machine:
        `${cpus().length} × ${model}, ${memory} GiB, ${os} ${arch}, Deno ${Deno.version.deno}`,
    }, suffix);
  }

  /** Prints one figure, rounded to three digits that mean something. */
  report(name: string, value: number, unit: string): void {
    const rounded = Number(value.toPrecision(4));
    const figure: Figure = { name: `${name}${this.suffix}`, value: rounded, unit, ...this.about };
    process.stdout.write(`${JSON.stringify(figure)}\n`);
  }

  /** Says on standard error what is being done. */
  note(text: string): void {
    process.stderr.write(`${text}\n`);
  }
}

/** The value that `share` (0 to 1) of the samples do not exceed; nearest rank. */
export function percentile(samples: readonly number[], share: number): number {
  if (samples.length === 0) throw new Error("no samples");
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? NaN;
}

async function commit(): Promise<string> {
  try {
    const { stdout } = await new Deno.Command("git", {
      args: ["describe", "--always", "--dirty", "--exclude=*"],
      cwd: import.meta.dirname ?? ".",
    }).output();
    return new TextDecoder().decode(stdout).trim() || "unknown";
  } catch {
    return "unknown"; // No git, or no repository.
  }
}
