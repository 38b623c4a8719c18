/**
 * For tests: runs `test` in an empty file system of so many kibibytes, mounted at `folder`.
 * `remountReadOnly` makes it read-only from then on. Needs {@link canMakeSmallDisks}.
 */
export async function withSmallDisk(
  folder: string,
  kibibytes: number,
  test: (disk: { remountReadOnly(): void }) => void | Promise<void>,
): Promise<void> {
  if (!run("mount", "-t", "tmpfs", "-o", `size=${kibibytes}k`, "tmpfs", folder)) {
    throw new Error(`cannot mount a small disk at ${folder}`);
  }
  try {
    await test({ remountReadOnly: () => void run("mount", "-o", "remount,ro", folder) });
  } finally {
    run("umount", folder);
  }
}

/** Whether this computer and user can mount one; tests that need it are ignored otherwise. */
export function canMakeSmallDisks(): boolean {
  if (Deno.build.os !== "linux") return false;
  const folder = Deno.makeTempDirSync();
  try {
    return run("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder) && run("umount", folder);
  } catch {
    return false;
  } finally {
    Deno.removeSync(folder);
  }
}

function run(program: string, ...args: string[]): boolean {
  return new Deno.Command(program, { args, stderr: "null" }).outputSync().success;
}
