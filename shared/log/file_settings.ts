import type { Rotation } from "./rotating_file.ts";

const UNITS: Readonly<Record<string, number>> = { "": 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 };
const SMALLEST_FILE = 4 * 1024;
const MOST_FILES = 1_000;

/**
 * Reads `MACHINE_LOG_FILE_MAX_SIZE` (bytes, or with a unit: `512K`, `10M`, `1GiB`) and
 * `MACHINE_LOG_FILE_MAX_FILES`; what is not set stays undefined.
 *
 * @throws an error that names the variable and what is allowed.
 */
export function readFileSettings(read: (name: string) => string | undefined): Rotation {
  const size = read("MACHINE_LOG_FILE_MAX_SIZE");
  const files = read("MACHINE_LOG_FILE_MAX_FILES");
  return {
    maxBytes: size ? parseSize(size) : undefined,
    maxFiles: files ? parseFiles(files) : undefined,
  };
}

function parseSize(text: string): number {
  const match = /^(\d{1,12})\s*([kmg]?)(?:i?b)?$/i.exec(text.trim());
  const bytes = Number(match?.[1]) * (UNITS[match?.[2]?.toLowerCase() ?? ""] ?? NaN);
  if (bytes >= SMALLEST_FILE) return bytes;
  throw refused("MACHINE_LOG_FILE_MAX_SIZE", text, "a size of at least 4K, for example 10M");
}

function parseFiles(text: string): number {
  const count = /^\d{1,4}$/.test(text.trim()) ? Number(text) : NaN;
  if (count <= MOST_FILES) return count;
  throw refused("MACHINE_LOG_FILE_MAX_FILES", text, `a whole number from 0 to ${MOST_FILES}`);
}

function refused(name: string, text: string, allowed: string): Error {
  return new RangeError(
    `the environment variable ${name} is ${JSON.stringify(text)}; allowed: ${allowed}`,
  );
}
