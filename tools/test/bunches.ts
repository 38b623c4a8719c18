/**
 * Tests run in bunches: one entry imports the files of a bunch, so that what they import is loaded
 * once for all of them and not once a file.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** What `deno test` takes for tests when it is given a folder. */
const TEST_FILE = /(?:^|[_.])test\.[cm]?[jt]sx?$/;

/** Test files in folders, and paths that are one themselves; relative to the root, in order. */
export async function testFiles(root: string, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    if ((await Deno.stat(join(root, path))).isFile) found.push(path);
    else await addFiles(root, path, found);
  }
  return found.sort();
}

async function addFiles(root: string, folder: string, found: string[]): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(join(root, folder))) {
    const path = `${folder}/${name}`;
    if (!isDirectory) {
      if (TEST_FILE.test(name)) found.push(path);
    } else if (name !== "node_modules" && !name.startsWith(".")) {
      await addFiles(root, path, found);
    }
  }
}

/**
 * Divides files into bunches of neighbours, which import much the same: each is of one folder of the
 * first level, and within it they are about as large.
 *
 * @param most how many files a bunch has at most.
 * @param alone files that are a bunch each.
 */
export function bunches(
  files: readonly string[],
  most: number,
  alone: readonly string[] = [],
): string[][] {
  const together = files.filter((file) => !alone.includes(file));
  const byProgram = Object.groupBy(together, (file) => file.split("/", 1)[0]!);
  const apart = files.filter((file) => alone.includes(file)).map((file) => [file]);
  return apart.concat(
    Object.values(byProgram).flatMap((of = []) => {
      const count = Math.ceil(of.length / most);
      const begin = (bunch: number) => Math.round(bunch * of.length / count);
      return Array.from({ length: count }, (_, at) => of.slice(begin(at), begin(at + 1)));
    }),
  );
}

/** The same, those with a file of `first` before the others, in its order. */
export function withFirst(
  bunches: readonly string[][],
  first: readonly string[],
): string[][] {
  const place = (bunch: readonly string[]) => {
    const at = first.findIndex((file) => bunch.includes(file));
    return at === -1 ? first.length : at;
  };
  return bunches.toSorted((one, other) => place(one) - place(other));
}

/** Makes the entries of bunches in a folder. @returns their paths. */
export async function writeEntries(
  folder: string,
  root: string,
  bunches: readonly (readonly string[])[],
  filter: string | undefined,
  hangMs?: number,
): Promise<string[]> {
  await Deno.mkdir(folder, { recursive: true });
  return await Promise.all(bunches.map(async (files, at) => {
    const path = join(folder, `bunch-${at}.mjs`);
    await Deno.writeTextFile(path, entryText(root, files, filter, hangMs));
    return path;
  }));
}

/** An entry with its path, as it stands in the output of `deno test`. */
export const ENTRY = /\S*\bbunch-\d+\.mjs/;
/** The line of a mark; its entry, which stands there only where bunches run side by side; its file. */
export const MARK =
  /^(?:(\S*\bbunch-\d+\.mjs) => )?tests of (\S+test\.[cm]?[jt]sx?)(?: .*)? \.\.\.(?: |-)/;

/** A test in which an error strayed, and that then hangs, ends its bunch after this. */
const HANG_MS = 120_000;

/**
 * What nobody catches fails the test in which it comes, or the file that is being loaded: it would
 * end the process, and with it the tests of all other files of the bunch. After all tests it ends the
 * process, as nothing else is left to fail.
 */
const straysText = (hangMs: number) =>
  `const strays = [];
let hangs;
const types = ["error", "unhandledrejection"];
const onStray = (event) => {
  event.preventDefault();
  const error = event.type === "error" ? event.error : event.reason;
  console.error("nobody caught", error);
  strays.push(error);
  hangs ??= setTimeout(() => {
    for (const type of types) removeEventListener(type, onStray);
    throw error;
  }, ${hangMs});
  Deno.unrefTimer(hangs);
};
for (const type of types) addEventListener(type, onStray);
const throwStrays = async () => {
  await new Promise((resolve) => setTimeout(resolve, 0));
  clearTimeout(hangs);
  hangs = undefined;
  if (strays.length > 0) throw new AggregateError(strays.splice(0), "errors that nobody caught");
};
Deno.test.afterEach(throwStrays);
Deno.test.afterAll(async () => {
  try {
    await throwStrays();
  } finally {
    for (const type of types) removeEventListener(type, onStray);
  }
});
`;

/**
 * An entry: before the tests of each file a mark, for `BunchOutput`, and in place of a file that
 * cannot be loaded a test that fails.
 *
 * @param filter only tests with this text in their name run; marks have it, too.
 */
function entryText(
  root: string,
  files: readonly string[],
  filter = "",
  hangMs = HANG_MS,
): string {
  const text = (value: string) => JSON.stringify(`${value} ${filter}`.trimEnd());
  return straysText(hangMs) +
    files.map((file) =>
      `Deno.test.ignore(${text(`tests of ${file}`)}, () => {});
try {
  await import(${JSON.stringify(pathToFileURL(join(root, file)).href)});
  await throwStrays();
} catch (error) {
  await throwStrays().catch(() => {});
  Deno.test(${text(`${file} cannot be loaded`)}, () => { throw error; });
}
`
    ).join("");
}
