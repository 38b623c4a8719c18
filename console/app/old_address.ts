/** Where `/?machine=ID` leads now, the address of a machine in an earlier release. */
export function oldAddress(path: string, query: URLSearchParams): string | undefined {
  const machine = query.get("machine");
  if (path !== "/" || machine === null) return undefined;
  return `/machines/${encodeURIComponent(machine)}`;
}
