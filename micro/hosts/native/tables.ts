declare const machineMicroTable: (name: string) => string | undefined;

/** The tables of `core/proto/tables.ts`, in the C part: in flash, not in the script's heap. */
export function tableEntry(name: string): string | undefined {
  return machineMicroTable(name);
}
