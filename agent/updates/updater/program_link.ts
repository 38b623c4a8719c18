import { basename, join } from "node:path";
import { replaceSymlink, writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";

/** Names the file of the version in use, so that everybody finds the old one or the new one. */
export interface ProgramLink {
  /** The file that it leads to; undefined when there is no link. */
  read(): Promise<string | undefined>;
  /**
   * Turns it in one step; on disk when this resolves.
   *
   * @throws {FileError} it then leads where it did.
   */
  turn(path: string): Promise<void>;
}

/** The link of a program in the folder `bin`. */
export function programLink(
  bin: string,
  program: string,
  os: string = Deno.build.os,
): ProgramLink {
  return os === "windows"
    ? new NameFile(join(bin, `${program}.current`))
    : new SymbolicLink(join(bin, program));
}

class SymbolicLink implements ProgramLink {
  constructor(readonly path: string) {}

  async read(): Promise<string | undefined> {
    try {
      return await Deno.readLink(this.path);
    } catch (error) {
      // EINVAL: a file that is no link; somebody put a program there by hand.
      const code = fsErrorCode(error);
      if (code === "ENOENT") return undefined;
      if (code === "EINVAL") return this.path;
      throw toFileError(error, "read the link", this.path);
    }
  }

  async turn(path: string): Promise<void> {
    if (path !== this.path) await replaceSymlink(path, this.path);
  }
}

/**
 * For Windows, where a symbolic link needs a privilege that a service may not have: a file that
 * holds the path. It is replaced by a rename, which Windows does in one step, too.
 */
class NameFile implements ProgramLink {
  constructor(readonly path: string) {}

  async read(): Promise<string | undefined> {
    const text = (await readIfExists(this.path))?.trim();
    return text ? text : undefined;
  }

  async turn(path: string): Promise<void> {
    if (/[\r\n]/.test(path)) throw new TypeError(`${basename(path)}: a path of one line is needed`);
    await writeFileAtomic(this.path, `${path}\n`, { mode: 0o644 });
  }
}
