import { downloadOf, type ManifestInput, TITLES } from "./sums.ts";

/** A manifest of Scoop for a program; undefined when it was not built for Windows. */
export function scoopManifest(program: string, input: ManifestInput): string | undefined {
  const title = TITLES[program];
  const download = downloadOf(input, program, "windows/amd64");
  if (title === undefined || download === undefined) return undefined;
  const { version, base } = input;
  const manifest = {
    version,
    description: title.text,
    homepage: base,
    license: "Apache-2.0",
    architecture: { "64bit": { url: download.url, hash: download.sha256 } },
    bin: `${program}.exe`,
    checkver: { url: `${base}/stable.json`, jsonpath: "$.version" },
    autoupdate: {
      architecture: { "64bit": { url: download.url.replace(`/${version}/`, "/$version/") } },
      hash: { url: `${base}/releases/$version/SHA256SUMS` },
    },
  };
  return `${JSON.stringify(manifest, null, 4)}\n`;
}
