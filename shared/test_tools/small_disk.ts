import { ignoreBecause, missingTools } from "./skips.ts";
import { waitFor } from "../base/time/wait_for.ts";

/**
 * For tests: runs `test` in an empty file system of so many kibibytes, mounted at `folder`.
 * `remountReadOnly` makes it read-only from then on. Tests ask {@link noSmallDisks}.
 *
 * A disk may be busy for a moment: a program that is being started holds all open files.
 */
export async function withSmallDisk(
  folder: string,
  kibibytes: number,
  test: (disk: { remountReadOnly(): Promise<void> }) => void | Promise<void>,
): Promise<void> {
  if (!run("mount", "-t", "tmpfs", "-o", `size=${kibibytes}k`, "tmpfs", folder)) {
    throw new Error(`cannot mount a small disk at ${folder}`);
  }
  try {
    await test({
      remountReadOnly: async () => {
        const what = `${folder} is read-only`;
        await waitFor(() => run("mount", "-o", "remount,ro", folder), { deadlineMs: 60_000, what });
      },
    });
  } finally {
    run("umount", "--lazy", folder);
  }
}

/**
 * For `ignore` of tests that need one: true where this host and user can mount none, which is
 * reported.
 *
 * @param url `import.meta.url` of the tests.
 */
export function noSmallDisks(url: string): boolean {
  if (Deno.build.os !== "linux") return true;
  const missing = missingTools("mount");
  return ignoreBecause(url, missing ?? (canMount() ? undefined : "this user can mount no tmpfs"));
}

function canMount(): boolean {
  const folder = Deno.makeTempDirSync();
  try {
    return run("mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder) && run("umount", folder);
  } finally {
    Deno.removeSync(folder);
  }
}

function run(program: string, ...args: string[]): boolean {
  return new Deno.Command(program, { args, stderr: "null" }).outputSync().success;
}
