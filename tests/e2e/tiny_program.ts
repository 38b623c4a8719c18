/** Whether {@link tinyProgram} makes programs for this host. */
export const canRunTinyPrograms = Deno.build.os === "linux" && Deno.build.arch === "x86_64";

const BASE = 0x40_0000;
const HEADER = 64;
const SEGMENT = 56;

/** `execve(path, argv, environment)`; if that fails `exit(127)`. The path follows the code. */
const CODE = [
  ...[0x48, 0x8d, 0x3d, 33, 0, 0, 0], // lea rdi, [rip+33]: the path
  ...[0x48, 0x8d, 0x74, 0x24, 8], // lea rsi, [rsp+8]: argv
  ...[0x48, 0x8b, 0x04, 0x24], // mov rax, [rsp]: argc
  ...[0x48, 0x8d, 0x54, 0xc4, 16], // lea rdx, [rsp+rax*8+16]: environment
  ...[0xb8, 59, 0, 0, 0, 0x0f, 0x05], // execve
  ...[0xbf, 127, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05], // exit
];

/**
 * A program of some hundred bytes for Linux on x86-64 that becomes another program, with the same
 * arguments. Releases have to be real programs; this is the smallest one.
 *
 * @param note what makes it differ from another one that becomes the same.
 */
export function tinyProgram(path: string, note: string): Uint8Array<ArrayBuffer> {
  const tail = new TextEncoder().encode(`${path}\0${note}\0`);
  const size = HEADER + SEGMENT + CODE.length + tail.length;
  const file = new Uint8Array(size);
  const view = new DataView(file.buffer);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  view.setUint16(16, 2, true); // An executable,
  view.setUint16(18, 0x3e, true); // for x86-64.
  view.setUint32(20, 1, true);
  view.setBigUint64(24, BigInt(BASE + HEADER + SEGMENT), true);
  view.setBigUint64(32, BigInt(HEADER), true);
  view.setUint16(52, HEADER, true);
  view.setUint16(54, SEGMENT, true);
  view.setUint16(56, 1, true);
  view.setUint32(HEADER, 1, true); // The whole file is loaded,
  view.setUint32(HEADER + 4, 5, true); // to be read and executed.
  for (const [at, value] of [[16, BASE], [24, BASE], [32, size], [40, size], [48, 0x1000]]) {
    view.setBigUint64(HEADER + (at ?? 0), BigInt(value ?? 0), true);
  }
  file.set(CODE, HEADER + SEGMENT);
  file.set(tail, HEADER + SEGMENT + CODE.length);
  return file;
}
