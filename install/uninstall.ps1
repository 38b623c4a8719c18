# Removes machine-agent, machine-server and their service; -Purge also removes the credentials. Run it
# in a PowerShell that was started as administrator.
#
#   MACHINE_DIR              folder of the agent (default C:\opt\machine)
#   MACHINE_CREDENTIALS_FILE the credentials (default C:\etc\machine.json)
param([switch] $Purge)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'

$dir = if ($env:MACHINE_DIR) { $env:MACHINE_DIR } else { 'C:\opt\machine' }
$credentials = if ($env:MACHINE_CREDENTIALS_FILE) {
    $env:MACHINE_CREDENTIALS_FILE
} else {
    'C:\etc\machine.json'
}
$link = Join-Path $dir 'bin\machine-agent.current'
if (-not (Test-Path -LiteralPath $link)) {
    throw "there is no machine-agent in $dir; set MACHINE_DIR where it is elsewhere"
}
# A copy: the program removes its own file.
$copy = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName() + '.exe')
Copy-Item -LiteralPath (Get-Content -Raw -LiteralPath $link).Trim() -Destination $copy
try {
    $options = @('--uninstall', '--dir', $dir, '--config', $credentials)
    if ($Purge) { $options += '--purge' }
    & $copy @options
    if ($LASTEXITCODE -ne 0) { throw "machine-agent --uninstall ended with $LASTEXITCODE" }
} finally {
    Remove-Item -Force -LiteralPath $copy
}
