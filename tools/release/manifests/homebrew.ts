import { downloadOf, type ManifestInput, TITLES } from "./sums.ts";

const SYSTEMS = [["macos", "darwin"], ["linux", "linux"]] as const;
const PROCESSORS = [["arm", "arm64"], ["intel", "amd64"]] as const;

/** Further lines of a formula. */
const MORE: Readonly<Record<string, string>> = {
  "machine": "",
  "machine-server": `
  service do
    run [opt_bin/"machine-server", "-config", etc/"machine.json"]
    environment_variables MACHINE_HOME: var/"machine-server"
    keep_alive true
  end
`,
  "machine-cloud": `
  service do
    run [opt_bin/"machine-cloud", "serve", "--data", var/"machine-cloud"]
    keep_alive true
  end
`,
};

/**
 * A formula of Homebrew for a program; undefined when it was built for no system that Homebrew
 * knows.
 */
export function homebrewFormula(program: string, input: ManifestInput): string | undefined {
  const title = TITLES[program];
  if (title === undefined) return undefined;
  const systems = SYSTEMS.map(([name, os]) => ({ name, text: system(program, os, input) }));
  const there = systems.filter(({ text }) => text !== "");
  if (there.length === 0) return undefined;
  const missing = systems.length > there.length ? `  depends_on :${there[0]!.name}\n` : "";
  const completions = program === "machine"
    ? `    generate_completions_from_executable(bin/"machine", "completions")\n`
    : "";
  return `class ${className(program)} < Formula
  desc ${quoted(title.text)}
  homepage ${quoted(input.base)}
  version ${quoted(input.version)}
  license "Apache-2.0"

${missing}${there.map(({ name, text }) => `  on_${name} do\n${text}  end\n`).join("\n")}
  def install
    bin.install "${program}"
${completions}  end
${MORE[program] ?? ""}
  test do
    assert_match version.to_s, shell_output("#{bin}/${program} ${title.versionFlag}")
  end
end
`;
}

function system(program: string, os: string, input: ManifestInput): string {
  return PROCESSORS.map(([name, processor]) => {
    const download = downloadOf(input, program, `${os}/${processor}`);
    if (!download) return "";
    return `    on_${name} do
      url ${quoted(download.url)}
      sha256 ${quoted(download.sha256)}
    end
`;
  }).join("");
}

const className = (program: string): string =>
  program.split("-").map((part) => `${part[0]!.toUpperCase()}${part.slice(1)}`).join("");

/** As Ruby reads it: without interpolation. */
const quoted = (text: string): string => JSON.stringify(text).replaceAll("#", "\\#");
