/** A connection that carries bytes both ways: a serial port or TCP. */
export interface ByteLink {
  /** What comes next; undefined at the end. */
  read(): Promise<Uint8Array | undefined>;
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  close(): Promise<void>;
}
