import { join } from "node:path";
import { create } from "tar";

export interface ArchiveOptions {
  /** Time of all files in it, so that two builds are the same. */
  readonly time: Date;
  /** Left out: compressed. */
  readonly gzip?: boolean;
  /**
   * Paths that are not root's, or that others may write to: `{ "./tmp": { id: 0, mode: 0o1777 } }`,
   * with the number of user and group.
   */
  readonly special?: Readonly<Record<string, { readonly id: number; readonly mode: number }>>;
}

/** Everything in a folder, as root's, in order of the names, as a tar archive. */
export async function archive(
  folder: string,
  file: string,
  { time: mtime, gzip = true, special = {} }: ArchiveOptions,
): Promise<void> {
  const paths = await below(folder, ".");
  await create(
    {
      ...{ cwd: folder, file, portable: true, mtime, noDirRecurse: true },
      ...(gzip ? { gzip: { level: 6 } } : {}),
      onWriteEntry: (entry) => {
        const found = special[entry.path.replace(/\/$/, "")];
        const { stat } = entry;
        if (stat && found) {
          const { id, mode } = found;
          // Otherwise it is always root's, and for root alone to write.
          entry.portable = false;
          const type = stat.mode & ~0o7777;
          const none = { atime: undefined, ctime: undefined };
          Object.assign(stat, { uid: id, gid: id, mode: type | mode, ...none });
        } else if (stat) Object.assign(stat, { uid: 0, gid: 0 });
        Object.assign(entry.header ?? {}, { uid: 0, gid: 0, uname: "root", gname: "root" });
      },
    },
    paths,
  );
}

async function below(root: string, path: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(join(root, path)));
  const found = [path];
  for (const { name, isDirectory } of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
    const inner = `${path}/${name}`;
    if (isDirectory) found.push(...await below(root, inner));
    else found.push(inner);
  }
  return found;
}
