/**
 * Runs a program and returns what it wrote to standard output.
 *
 * @throws Error with the command and what it said, when it fails or is not there.
 */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    ...options,
  }).output().catch((error: unknown) => {
    if (error instanceof Deno.errors.NotFound) throw new Error(`there is no program ${command}`);
    throw error;
  });
  const said = new TextDecoder().decode(stderr).trim();
  if (!success) throw new Error(`${command} ${args.slice(-1).join("")} failed:\n${said}`);
  return new TextDecoder().decode(stdout);
}

/** Does the work for each item, as many at once as there are processors; gives the results in order. */
export async function forEachAtOnce<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const at = next++;
      const item = items[at];
      if (item !== undefined) results[at] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, worker));
  return results;
}
