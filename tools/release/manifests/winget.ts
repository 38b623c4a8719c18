import { productCode, UPGRADE_CODE } from "../packages/msi_codes.ts";
import { downloadOf, type ManifestInput, TITLES } from "./sums.ts";

/** Version of the manifests' form. */
const FORM = "1.10.0";

type Value = string | readonly Value[] | { readonly [key: string]: Value };

/**
 * Manifests of WinGet: of each program a file for the version, the installer and the text.
 *
 * @param date day of the release, `2026-01-31`
 * @returns texts by file name
 */
export function wingetManifests(input: ManifestInput, date: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const [program, { text }] of Object.entries(TITLES)) {
    const download = downloadOf(input, program, "windows/amd64");
    if (!download) continue;
    const installer = {
      InstallerType: "portable",
      Commands: [program],
      ReleaseDate: date,
      Installers: [{
        Architecture: "x64",
        InstallerUrl: download.url,
        InstallerSha256: download.sha256.toUpperCase(),
      }],
    };
    Object.assign(files, manifestsOf(program, text, installer, input));
  }
  if (input.msi) {
    const installer = {
      InstallerType: "wix",
      Scope: "machine",
      ReleaseDate: date,
      UpgradeBehavior: "install",
      ProductCode: productCode(input.version),
      AppsAndFeaturesEntries: [{ UpgradeCode: UPGRADE_CODE, InstallerType: "wix" }],
      Installers: [{
        Architecture: "x64",
        InstallerUrl: input.msi.url,
        InstallerSha256: input.msi.sha256.toUpperCase(),
      }],
    };
    const text = "Installs, updates and watches machine-server";
    Object.assign(files, manifestsOf("machine-agent", text, installer, input));
  }
  return files;
}

function manifestsOf(
  program: string,
  text: string,
  installer: Record<string, Value>,
  { version, base }: ManifestInput,
): Record<string, string> {
  const id = `Machine.${program.split("-").map(capital).join("")}`;
  const head = { PackageIdentifier: id, PackageVersion: version };
  const manifest = (type: string, fields: Record<string, Value>): string => {
    const all = { ...head, ...fields, ManifestType: type, ManifestVersion: FORM };
    const schema = `https://aka.ms/winget-manifest.${type}.${FORM}.schema.json`;
    return `# yaml-language-server: $schema=${schema}\n\n${yaml(all)}`;
  };
  return {
    [`${id}.yaml`]: manifest("version", { DefaultLocale: "en-US" }),
    [`${id}.installer.yaml`]: manifest("installer", installer),
    [`${id}.locale.en-US.yaml`]: manifest("defaultLocale", {
      PackageLocale: "en-US",
      Publisher: "The machine authors",
      PackageName: program,
      PackageUrl: base,
      License: "Apache-2.0",
      ShortDescription: text,
      ReleaseNotesUrl: `${base}/releases/${encodeURIComponent(version)}/NOTES.md`,
    }),
  };
}

const capital = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}`;

function yaml(fields: Readonly<Record<string, Value>>, indent = ""): string {
  return Object.entries(fields).map(([key, value]) => {
    // JSON's strings are YAML's, too.
    if (typeof value === "string") return `${indent}${key}: ${JSON.stringify(value)}\n`;
    if (!Array.isArray(value)) {
      return `${indent}${key}:\n${yaml(value as Record<string, Value>, `${indent}  `)}`;
    }
    const items = (value as readonly Value[]).map((item) =>
      typeof item === "string"
        ? `${indent}- ${JSON.stringify(item)}\n`
        : yaml(item as Record<string, Value>, `${indent}  `).replace(/^(\s*) {2}/, "$1- ")
    );
    return `${indent}${key}:\n${items.join("")}`;
  }).join("");
}
