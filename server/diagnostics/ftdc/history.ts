/** The course of numbers that capture has written, read back from its files. */
import { join } from "node:path";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import { captureFilesIn, timeOfFile } from "./files.ts";
import { type Datum, ftdcMoments } from "./read.ts";

/** What is requested. */
export interface HistoryQuery {
  /** Since 1970, milliseconds; `end` does not belong to it. */
  readonly start: number;
  readonly end: number;
  /** Beginnings of names; empty: all names. */
  readonly names: readonly string[];
  /** Equal spans that the time is divided into. */
  readonly points: number;
}

/** One number, span by span; NaN where nothing was noted. */
export interface Course {
  readonly name: string;
  readonly mean: Float64Array;
  readonly least: Float64Array;
  readonly most: Float64Array;
}

/** More names than these are left out; modules choose theirs. */
const MOST_SERIES = 200;
/** Moments that are read in one turn: a few milliseconds, between which calls are answered. */
const MOMENTS_A_TURN = 500;

/**
 * Reads the files of a folder as far as they hold the time that is requested, one after the other.
 * The end of a file that is being written, or was cut off, is left out.
 *
 * @param turn resolves when others had their turn
 */
export async function readHistory(
  folder: string,
  query: HistoryQuery,
  turn: () => Promise<void>,
  signal: AbortSignal,
): Promise<Course[]> {
  const courses = new Courses(query);
  const names = await captureFilesIn(folder);
  for (const [at, name] of names.entries()) {
    const next = names[at + 1];
    // A file holds what came from its time to that of the next one, to the second.
    if (timeOfFile(name) >= query.end) break;
    if (next !== undefined && timeOfFile(next) + 1_000 < query.start) continue;
    const bytes = await read(join(folder, name));
    if (!bytes) continue; // Capture needed its place.
    let count = 0;
    for (const moment of ftdcMoments(bytes)) {
      courses.add(moment);
      if (++count % MOMENTS_A_TURN > 0) continue;
      await turn();
      signal.throwIfAborted();
    }
  }
  return courses.end();
}

async function read(path: string): Promise<Uint8Array | undefined> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    if (fsErrorCode(error) === "ENOENT") return undefined;
    throw toFileError(error, "read", path);
  }
}

interface Sums extends Course {
  readonly counts: Uint32Array;
}

/** Adds moments up, span by span. */
class Courses {
  readonly #byName = new Map<string, Sums>();
  readonly #stepMs: number;
  #names: readonly string[] | undefined;
  /** Of the names in force: where the value stands, and what it is added to. */
  #places: readonly (readonly [field: number, sums: Sums])[] = [];

  constructor(private readonly query: HistoryQuery) {
    this.#stepMs = (query.end - query.start) / query.points;
  }

  add({ time, names, values }: Datum): void {
    const { start, end, points } = this.query;
    if (time < start || time >= end) return;
    if (names !== this.#names) this.#learn(names);
    const at = Math.min(points - 1, Math.floor((time - start) / this.#stepMs));
    for (const [field, { counts, mean, least, most }] of this.#places) {
      const value = values[field]!;
      if (counts[at]!++ === 0) {
        mean[at] = least[at] = most[at] = value;
        continue;
      }
      mean[at]! += value;
      if (value < least[at]!) least[at] = value;
      if (value > most[at]!) most[at] = value;
    }
  }

  end(): Course[] {
    const all = [...this.#byName.values()];
    for (const { counts, mean } of all) {
      for (const [at, count] of counts.entries()) if (count > 1) mean[at]! /= count;
    }
    return all.sort((a, b) => a.name < b.name ? -1 : 1);
  }

  #learn(names: readonly string[]): void {
    this.#names = names;
    const wanted = this.query.names;
    this.#places = names.flatMap((name, field) => {
      if (wanted.length > 0 && !wanted.some((beginning) => name.startsWith(beginning))) return [];
      const sums = this.#sumsOf(name);
      return sums ? [[field, sums] as const] : [];
    });
  }

  #sumsOf(name: string): Sums | undefined {
    const known = this.#byName.get(name);
    if (known || this.#byName.size >= MOST_SERIES) return known;
    const { points } = this.query;
    const nothing = () => new Float64Array(points).fill(NaN);
    const [mean, least, most] = [nothing(), nothing(), nothing()];
    const sums = { name, mean, least, most, counts: new Uint32Array(points) };
    this.#byName.set(name, sums);
    return sums;
  }
}
