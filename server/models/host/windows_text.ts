/** Readers of what Windows' own tools print. Pure, and independent of the display language. */
import type { Counters } from "./host_source.ts";

/** Bytes received and sent from `netstat -e`: the first row with two numbers. */
export function parseNetstat(text: string): Counters["network"] {
  for (const line of text.split(/\r?\n/)) {
    const numbers = line.match(/\s(\d+)\s+(\d+)\s*$/);
    if (numbers) return { rxBytes: Number(numbers[1]), txBytes: Number(numbers[2]) };
  }
  throw new Error("netstat -e printed no row with two numbers");
}

/** How many processes `tasklist /fo csv /nh` lists. */
export function countTasklist(text: string): number {
  return text.split(/\r?\n/).filter((line) => line.startsWith('"')).length;
}
