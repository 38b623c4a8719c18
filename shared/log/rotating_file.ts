import { type FileError, fsErrorCode, toFileError } from "../base/files/fs_error.ts";
import type { Clock, Timer } from "../base/time/clock.ts";
import { severity } from "./level.ts";
import { formatLine, type LogLine } from "./line.ts";

/** How much of a log is kept in files. */
export interface Rotation {
  /** A file that would become larger is put aside first. Bytes. Default 10 MiB. */
  maxBytes?: number | undefined;
  /** Files put aside that are kept: `name.1` is the newest. Default 5; 0 keeps none. */
  maxFiles?: number | undefined;
}

/** How {@link RotatingFile.open} opens. */
export interface RotatingFileOptions extends Rotation {
  clock: Clock;
  /** Notified once when the file cannot be written, and again after it could be. */
  onProblem: (message: string) => void;
}

const DEFAULT_BYTES = 10 * 1024 * 1024;
const DEFAULT_FILES = 5;
const FLUSH_MS = 1_000;
const FLUSH_CHARACTERS = 16 * 1024;
/** Text that waits while the file cannot be written. */
const MOST_PENDING_CHARACTERS = 256 * 1024;
const RETRY_MS = 5_000;

/**
 * A log file that is rotated by size. Lines are written together once a second, those of level
 * error at once. A file that cannot be written, since the disk is full for example, never stops
 * the program: lines wait in bounded memory, it is tried again, and the file says how many were
 * lost. A file that somebody moved or deleted is made again.
 */
export class RotatingFile {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #maxFiles: number;
  readonly #onProblem: (message: string) => void;
  #file: Deno.FsFile | undefined;
  #bytes = 0;
  #pending: string[] = [];
  #pendingCharacters = 0;
  #lost = 0;
  /** Why the file cannot be written at present. */
  #problem: string | undefined;
  #rotationProblem: string | undefined;
  #isFlushing = false;
  #timer: Timer | undefined;

  private constructor(path: string, options: RotatingFileOptions) {
    this.#path = path;
    this.#clock = options.clock;
    this.#maxBytes = options.maxBytes ?? DEFAULT_BYTES;
    this.#maxFiles = options.maxFiles ?? DEFAULT_FILES;
    this.#onProblem = options.onProblem;
  }

  /**
   * Opens or creates the file; what it holds stays.
   *
   * @throws {FileError}
   */
  static open(path: string, options: RotatingFileOptions): RotatingFile {
    const file = new RotatingFile(path, options);
    try {
      file.#open();
    } catch (error) {
      throw toFileError(error, "open the log file", path);
    }
    return file;
  }

  /** Takes a line; never throws. */
  write(line: LogLine): void {
    const text = `${formatLine(line)}\n`;
    this.#pending.push(text);
    this.#pendingCharacters += text.length;
    if (this.#problem === undefined) {
      const isUrgent = severity(line.level) >= severity("error");
      if (isUrgent || this.#pendingCharacters >= FLUSH_CHARACTERS) return this.flush();
    }
    if (this.#pendingCharacters > MOST_PENDING_CHARACTERS) this.#dropOldest();
    this.#armTimer();
  }

  /** Writes what waits, or keeps it for later. */
  flush(): void {
    if (this.#pending.length === 0 || this.#isFlushing) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    const batch = this.#pending;
    let lost = this.#lost;
    this.#pending = [];
    this.#pendingCharacters = 0;
    this.#lost = 0;
    // To report a problem is to log a line, which comes here.
    this.#isFlushing = true;
    try {
      while (batch.length > 0) {
        const count = this.#countThatFits(batch);
        const notice = lost > 0 ? this.#lostNotice(lost) : "";
        this.#append(notice + batch.slice(0, count).join(""));
        batch.splice(0, count);
        lost = 0;
      }
      this.#problem = undefined;
    } catch (error) {
      this.#keep(batch, lost);
      this.#tell(toFileError(error, "write the log file", this.#path));
    } finally {
      this.#isFlushing = false;
    }
    if (this.#pending.length > 0) this.#armTimer();
  }

  /** Writes what waits and closes the file. */
  close(): void {
    this.flush();
    this.#timer?.cancel();
    this.#close();
  }

  /** How many of the lines may go into one file; at least one. */
  #countThatFits(batch: readonly string[]): number {
    // Most lines are ASCII: a unit is a byte.
    const room = this.#bytes < this.#maxBytes ? this.#maxBytes - this.#bytes : this.#maxBytes;
    let characters = 0;
    const end = batch.findIndex((text) => (characters += text.length) > room);
    return end < 0 ? batch.length : Math.max(1, end);
  }

  #append(text: string): void {
    this.#followPath();
    const bytes = new TextEncoder().encode(text);
    if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#rotate();
    const file = this.#file ?? this.#open();
    const before = this.#bytes;
    try {
      for (let written = 0; written < bytes.length;) {
        const count = file.writeSync(bytes.subarray(written));
        written += count;
        this.#bytes += count;
      }
    } catch (error) {
      if (this.#bytes > before) this.#cutBack(file, before);
      throw error;
    }
  }

  /** A piece of a line is worth nothing, and would be there twice. */
  #cutBack(file: Deno.FsFile, bytes: number): void {
    try {
      file.truncateSync(bytes);
      this.#bytes = bytes;
    } catch {
      // Then the piece stays; the write that failed is reported.
    }
  }

  #keep(batch: string[], lost: number): void {
    this.#pending = [...batch, ...this.#pending];
    this.#pendingCharacters += batch.reduce((sum, text) => sum + text.length, 0);
    this.#lost += lost;
    this.#dropOldest();
  }

  /** Puts the file aside. One that cannot be put aside is written on. */
  #rotate(): void {
    this.#close();
    try {
      if (this.#maxFiles === 0) Deno.removeSync(this.#path);
      for (let number = this.#maxFiles; number > 0; number--) {
        const from = number === 1 ? this.#path : `${this.#path}.${number - 1}`;
        renameIfThere(from, `${this.#path}.${number}`);
      }
      this.#rotationProblem = undefined;
    } catch (error) {
      const { message } = toFileError(error, "put aside the log file", this.#path);
      if (this.#rotationProblem === undefined) this.#onProblem(message);
      this.#rotationProblem = message;
    }
  }

  #open(): Deno.FsFile {
    const file = Deno.openSync(this.#path, { append: true, create: true, mode: 0o640 });
    this.#file = file;
    this.#bytes = file.statSync().size;
    return file;
  }

  #close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  /** Notices that the path leads to another file now, or to none. */
  #followPath(): void {
    if (!this.#file) return;
    try {
      const [ours, theirs] = [this.#file.statSync(), Deno.statSync(this.#path)];
      if (ours.ino === theirs.ino && ours.dev === theirs.dev) return;
    } catch (error) {
      if (fsErrorCode(error) !== "ENOENT") throw error;
    }
    this.#close();
  }

  #tell({ message }: FileError): void {
    const isKnown = this.#problem !== undefined;
    this.#problem = message;
    if (!isKnown) this.#onProblem(message);
  }

  #armTimer(): void {
    const waitMs = this.#problem === undefined ? FLUSH_MS : RETRY_MS;
    this.#timer ??= this.#clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.flush();
    });
  }

  #dropOldest(): void {
    let first = 0;
    while (this.#pendingCharacters > MOST_PENDING_CHARACTERS && first < this.#pending.length) {
      this.#pendingCharacters -= this.#pending[first++]?.length ?? 0;
    }
    this.#pending.splice(0, first);
    this.#lost += first;
  }

  #lostNotice(lost: number): string {
    const lines = lost === 1 ? "1 line is" : `${lost} lines are`;
    return `${
      formatLine({
        time: this.#clock.now(),
        level: "warn",
        logger: "log",
        message: `${lines} missing here: the log file could not be written`,
        fields: {},
        caller: undefined,
      })
    }\n`;
  }
}

function renameIfThere(from: string, to: string): void {
  try {
    Deno.renameSync(from, to);
  } catch (error) {
    if (fsErrorCode(error) !== "ENOENT") throw error;
  }
}
