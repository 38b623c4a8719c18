/** A pseudo terminal: what is written to it, the program inside reads as typed. */
export interface Pty {
  /** The end for the program. A session leader that opens it is controlled by it. */
  readonly path: string;
  /** What the program prints next; undefined when no process has the terminal open any more. */
  read(): Promise<Uint8Array | undefined>;
  /** Resolves when all is handed over, or nobody can read it any more. */
  write(bytes: Uint8Array): Promise<void>;
  /** The program learns of it (SIGWINCH). */
  resize(size: TerminalSize): void;
  /** Nothing more will be written inside: `read` ends when what is there was read. */
  drain(): void;
  /** Hangs up (SIGHUP for whoever is still inside). */
  close(): Promise<void>;
}

/** In characters. */
export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}
