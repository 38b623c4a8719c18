/** Memory of a process, bytes; 0 where the system does not report it. */
export function residentBytes(pid: number): number {
  if (Deno.build.os !== "linux") return 0;
  try {
    const [, pages = "0"] = Deno.readTextFileSync(`/proc/${pid}/statm`).split(" ");
    return Number(pages) * 4_096;
  } catch {
    return 0; // It has just ended.
  }
}
