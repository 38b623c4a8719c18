import { join } from "node:path";
import { folderOf, nameAndVersion } from "./sbom.ts";

/** Of packages whose description names the licence of the wrapping only. */
const OF_CONTENT: Readonly<Record<string, string>> = {
  "@cwasm/jpeg-turbo": "MIT AND BSD-3-Clause AND IJG", // libjpeg-turbo's LICENSE.md
};

/**
 * Looks up the licence that a package's own description names, for packages below
 * `node_modules/.deno`. Those for other systems are not installed, and have none here.
 */
export async function installedLicences(
  folder: string,
): Promise<(key: string) => string | undefined> {
  // A folder's name may continue with what the package was chosen with.
  const folders = new Map<string, string>();
  for await (const { name } of Deno.readDir(folder)) folders.set(name.split("_")[0]!, name);
  return (key) => {
    const { name } = nameAndVersion(key);
    if (OF_CONTENT[name] !== undefined) return OF_CONTENT[name];
    const place = join(folder, folders.get(folderOf(key)) ?? "", "node_modules", name);
    try {
      const text = Deno.readTextFileSync(join(place, "package.json"));
      const { license } = JSON.parse(text) as { license?: unknown };
      return typeof license === "string" ? license : undefined;
    } catch {
      return undefined;
    }
  };
}
