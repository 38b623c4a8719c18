/** The variable that names the fault point at which this process shall die. */
const FAULT_POINT_VARIABLE = "MACHINE_FAULT_POINT";
/** The variable that names a file to which every fault point is written that is passed. */
export const FAULT_TRACE_VARIABLE = "MACHINE_FAULT_TRACE";

/**
 * A named place where a power cut would hurt most. Does nothing unless the environment variable
 * MACHINE_FAULT_POINT holds this name ("files.write.before-rename") or the name and which pass
 * of it ("store.migration.between#2"); then the process kills itself with SIGKILL, so nothing
 * after it runs: no finally, no flush. Tests start a child process with the variable set; with
 * MACHINE_FAULT_TRACE they learn which points a run passes.
 */
export function faultPoint(name: string): void {
  const trace = Deno.env.get(FAULT_TRACE_VARIABLE);
  if (trace) Deno.writeTextFileSync(trace, `${name}\n`, { append: true });
  const wanted = Deno.env.get(FAULT_POINT_VARIABLE);
  if (wanted === undefined || !wanted.startsWith(name)) return;
  if (wanted !== name && !isLastPass(name, wanted)) return;
  Deno.kill(Deno.pid, "SIGKILL");
}

const passes = new Map<string, number>();

function isLastPass(name: string, wanted: string): boolean {
  if (wanted[name.length] !== "#") return false;
  const pass = (passes.get(name) ?? 0) + 1;
  passes.set(name, pass);
  return pass === Number(wanted.slice(name.length + 1));
}
