const BLOCK = 512;
/** What fits into the name of a ustar header. */
const LONGEST_NAME = 100;

/**
 * The header of a file in a tar archive (POSIX ustar), followed in the archive by the file and
 * `padding()`.
 *
 * @param name ASCII, at most 100 characters
 */
export function tarHeader(name: string, size: number, seconds: number): Uint8Array<ArrayBuffer> {
  if (name.length > LONGEST_NAME) throw new RangeError(`${name} is too long for an archive`);
  const header = new Uint8Array(BLOCK);
  const write = (at: number, text: string) => header.set(new TextEncoder().encode(text), at);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0") + "\0";
  write(0, name);
  write(100, octal(0o644, 7));
  write(108, octal(0, 7));
  write(116, octal(0, 7));
  write(124, octal(size, 11));
  write(136, octal(seconds, 11));
  write(148, " ".repeat(8));
  write(156, "0");
  write(257, "ustar\0" + "00");
  const sum = header.reduce((total, byte) => total + byte, 0);
  write(148, sum.toString(8).padStart(6, "0") + "\0 ");
  return header;
}

/** What fills the last block of a file of this size. */
export function padding(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array((BLOCK - size % BLOCK) % BLOCK);
}

/** What ends an archive. */
export function tarEnd(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(2 * BLOCK);
}
