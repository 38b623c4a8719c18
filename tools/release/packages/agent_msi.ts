import { join } from "node:path";
import { productCode, UPGRADE_CODE } from "./msi_codes.ts";
import { settleSummary } from "./msi_summary.ts";

/** Names the program's file in all versions. */
const COMPONENT = "{6E7B1C52-9D0C-4C0B-8E57-1A6D2F4B7C11}";

/**
 * A program of the package, run as the system when the installation is undone, whatever it ends
 * with: msidbCustomActionTypeExe + SourceFile + Continue + Rollback + InScript + NoImpersonate.
 */
const UNDO_TYPE = 0x02 | 0x10 | 0x40 | 0x100 | 0x400 | 0x800;

/**
 * Makes the package of machine-agent for Windows, by `wixl` of msitools. It puts the program into
 * `Program Files` and has that install itself as the service; removing the package removes both, and
 * an upgrade is an installation over the one before.
 *
 * @param binary the compiled program
 * @param folder where the package goes
 * @param version without a suffix: Windows compares three numbers only
 * @returns its path, `…/machine-agent-1.2.3.msi`
 * @throws {Error} with what wixl said
 */
export async function makeAgentMsi(
  binary: string,
  folder: string,
  { version, time }: { version: string; time: Date },
): Promise<string> {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`no MSI package for version ${version}`);
  await Deno.mkdir(folder, { recursive: true });
  const work = await Deno.makeTempDir({ dir: folder, prefix: ".package-" });
  try {
    // Its time goes into the cabinet.
    await Deno.copyFile(binary, join(work, "machine-agent.exe"));
    await Deno.utime(join(work, "machine-agent.exe"), time, time);
    await Deno.writeTextFile(join(work, "agent.wxs"), source(version));
    await run(work, "wixl", "--arch", "x64", "--output", "agent.msi", "agent.wxs");
    // wixl knows no actions that undo, and would make this one that runs at once; and it puts the
    // removal of the older version where Windows allows none: it has to follow InstallInitialize.
    for (
      const query of [
        `UPDATE CustomAction SET Type = ${UNDO_TYPE} WHERE Action = 'UndoService'`,
        "UPDATE InstallExecuteSequence SET Sequence = 1501 WHERE Action = 'RemoveExistingProducts'",
      ]
    ) await run(work, "msibuild", "agent.msi", "-q", query);
    const bytes = await Deno.readFile(join(work, "agent.msi"));
    settleSummary(bytes, productCode(`${version} package`), time);
    await Deno.writeFile(join(work, "agent.msi"), bytes);
    const path = join(folder, `machine-agent-${version}.msi`);
    await Deno.rename(join(work, "agent.msi"), path);
    return path;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

async function run(cwd: string, program: string, ...args: string[]): Promise<void> {
  const command = new Deno.Command(program, { args, cwd, env: { TZ: "UTC" } });
  const { success, stderr } = await command.output();
  if (!success) throw new Error(`${program}: ${new TextDecoder().decode(stderr).trim()}`);
}

/**
 * REINSTALLMODE has the program replaced whatever version its runtime names. An older version is
 * removed first, and leaves the service then.
 */
function source(version: string): string {
  return `<?xml version="1.0" encoding="utf-8"?>
<Wix xmlns="http://schemas.microsoft.com/wix/2006/wi">
  <Product Id="${productCode(version)}" UpgradeCode="${UPGRADE_CODE}" Name="Machine agent"
    Version="${version}" Manufacturer="The machine authors" Language="1033">
    <Package InstallerVersion="500" Compressed="yes" InstallScope="perMachine"
      Comments="Installs, updates and watches machine-server" />
    <MajorUpgrade DowngradeErrorMessage="A newer machine-agent is installed; remove that first." />
    <Property Id="REINSTALLMODE" Value="amus" />
    <Property Id="ARPNOMODIFY" Value="1" />
    <Media Id="1" Cabinet="agent.cab" EmbedCab="yes" />
    <Directory Id="TARGETDIR" Name="SourceDir">
      <Directory Id="ProgramFiles64Folder">
        <Directory Id="INSTALLDIR" Name="Machine agent">
          <Component Id="Agent" Guid="${COMPONENT}" Win64="yes">
            <File Id="AgentExe" Name="machine-agent.exe" Source="machine-agent.exe" KeyPath="yes" />
          </Component>
        </Directory>
      </Directory>
    </Directory>
    <Feature Id="Main" Level="1"><ComponentRef Id="Agent" /></Feature>
    <CustomAction Id="UndoService" FileKey="AgentExe" ExeCommand="--uninstall"
      Execute="rollback" Impersonate="no" Return="ignore" />
    <CustomAction Id="InstallService" FileKey="AgentExe" ExeCommand="--install"
      Execute="deferred" Impersonate="no" Return="check" />
    <CustomAction Id="RemoveService" FileKey="AgentExe" ExeCommand="--uninstall"
      Execute="deferred" Impersonate="no" Return="check" />
    <InstallExecuteSequence>
      <Custom Action="RemoveService" After="UnpublishFeatures"
        >REMOVE="ALL" AND NOT UPGRADINGPRODUCTCODE</Custom>
      <Custom Action="UndoService" After="InstallFiles">NOT Installed AND NOT WIX_UPGRADE_DETECTED</Custom>
      <Custom Action="InstallService" After="UndoService">NOT REMOVE</Custom>
    </InstallExecuteSequence>
  </Product>
</Wix>
`;
}
