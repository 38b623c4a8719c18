/** What brings files into the cache; see agent/updates/downloads. */
export interface Downloads {
  /**
   * Brings the file into the cache: checked, on disk, executable. Comes back at once when it is
   * there.
   *
   * @throws {Error} see {@link isPermanent}; the signal's reason when aborted.
   */
  obtain(
    wanted: WantedProgram,
    report: (progress: ProgressOfDownload) => void,
    signal: AbortSignal,
  ): Promise<{ readonly path: string; readonly sha256: string }>;
}

export interface WantedProgram {
  readonly program: string;
  readonly version: string;
  readonly url: string;
  readonly sha256?: string | undefined;
  readonly size?: number | undefined;
}

export interface ProgressOfDownload {
  readonly bytesDownloaded: number;
  readonly totalBytes: number;
  /** Why the last attempt failed; empty while one is under way. */
  readonly error?: string;
}

/** Whether the file itself is wrong, and not the way to it. */
export function isPermanent(error: unknown): boolean {
  return error instanceof Error && "permanent" in error && error.permanent === true;
}
