import type { Clock } from "../../base/time/clock.ts";
import type { Terminal } from "./terminal.ts";

/** Shows how far something is that takes long. */
export interface Progress {
  /** So many bytes more are done. */
  add(bytes: number): void;
  /** Takes the line away. */
  end(): void;
}

/** Where and whether it is shown. */
export interface ProgressPlace {
  readonly quiet: boolean;
  readonly json: boolean;
  readonly terminal: Pick<Terminal, "isError" | "draw">;
  readonly clock: Pick<Clock, "monotonicMs">;
}

const WIDTH = 30;
const EVERY_MS = 100;

/**
 * A bar on standard error, while a person looks at it; otherwise nothing.
 *
 * @param label what is under way: `upload module.tar.gz`
 * @param total bytes; undefined where nobody knows
 */
export function progressBar(
  { quiet, json, terminal, clock }: ProgressPlace,
  label: string,
  total: number | undefined,
): Progress {
  if (quiet || json || !terminal.isError) return { add: () => {}, end: () => {} };
  let bytes = 0;
  let drawnMs = -EVERY_MS;
  const draw = () => terminal.draw(`\r\x1b[K${label}  ${progressText(bytes, total)}`);
  return {
    add(count) {
      bytes += count;
      const now = clock.monotonicMs();
      if (now - drawnMs < EVERY_MS && bytes !== total) return;
      drawnMs = now;
      draw();
    },
    end: () => terminal.draw("\r\x1b[K"),
  };
}

/** `[#####     ]  50 %  1.0 of 2.0 MiB`. */
function progressText(bytes: number, total: number | undefined): string {
  if (total === undefined || total <= 0) return `${mib(bytes)} MiB`;
  const share = Math.min(1, bytes / total);
  const full = Math.floor(share * WIDTH);
  const bar = "#".repeat(full).padEnd(WIDTH);
  return `[${bar}] ${String(Math.floor(share * 100)).padStart(3)} %  ${mib(bytes)} of ${
    mib(total)
  } MiB`;
}

function mib(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1);
}
