import { join } from "node:path";
import { folderOf, nameAndVersion } from "./sbom.ts";

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
