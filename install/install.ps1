# Installs machine-agent as a service of Windows, which then brings machine-server and keeps both up
# to date. Run it in a PowerShell that was started as administrator; run it again to upgrade. What it
# needs is in the environment, with the same names as for install.sh:
#
#   MACHINE_CLOUD_ADDRESS    address of the cloud: https://cloud.example (default: the one in the
#                            credentials file)
#   MACHINE_API_KEY_ID       an API key that manages the part, and
#   MACHINE_API_KEY          its secret; with them the credentials file is fetched
#   MACHINE_PART_ID          part that this host is
#   MACHINE_ENROLLMENT_TOKEN or, in place of these three, a token of machine enrollment create: the
#                            host becomes a machine by itself when it starts
#   MACHINE_CREDENTIALS_FILE where the credentials are or go (default C:\etc\machine.json)
#   MACHINE_DOWNLOAD_URL     address of a download folder (make release) to take the agent from, in
#                            place of the cloud
#   MACHINE_AGENT_VERSION    version or channel (default stable)
#   MACHINE_RELEASE_KEY      file with the public key of the releases (PEM, from /releases/key.pem of
#                            your cloud); with it the signature is checked here already, by openssl
#   MACHINE_DIR              folder of the agent (default C:\opt\machine)
Set-StrictMode -Version 3.0
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue'
[Net.ServicePointManager]::SecurityProtocol =
    [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

function Get-Setting([string] $Name, [string] $Default = '') {
    $value = [Environment]::GetEnvironmentVariable($Name)
    if ($value) { $value } else { $Default }
}

function Assert-Administrator {
    $user = [Security.Principal.WindowsPrincipal] [Security.Principal.WindowsIdentity]::GetCurrent()
    if (-not $user.IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)) {
        throw 'start PowerShell as administrator'
    }
}

function Assert-Computer {
    if ([Environment]::OSVersion.Platform -ne 'Win32NT') {
        throw 'this installs on Windows; for Linux there is install.sh'
    }
    if (-not [Environment]::Is64BitOperatingSystem) {
        throw 'there is no machine-agent for 32-bit Windows; it runs on x86-64'
    }
    Assert-Administrator
}

# How a version sorts as text; a candidate (1.2.0-rc.1) is older than its release.
function Get-VersionKey([string] $Version) {
    $release, $candidate = ($Version -split '\+')[0] -split '-', 2
    if (-not $candidate) { $candidate = '~' }
    [regex]::Replace("$release-$candidate", '\d+', { param($digits) $digits.Value.PadLeft(10, '0') })
}

# Who can only repeat an old answer must not bring an old version back.
function Assert-NotOlder([string] $Wanted, [string] $Exact, [string] $Dir) {
    $link = Join-Path $Dir 'bin\machine-agent.current'
    if ($Wanted -eq $Exact -or -not (Test-Path -LiteralPath $link)) { return }
    # Its line is ...\machine-agent-VERSION-SHA256.exe.
    if ((Get-Content -Raw -LiteralPath $link) -notmatch 'machine-agent-(.+)-[0-9a-f]+(\.exe)?\s*$') { return }
    $there = $Matches[1]
    if ([string]::CompareOrdinal((Get-VersionKey $there), (Get-VersionKey $Exact)) -gt 0) {
        throw "machine-agent $there is here, and $Wanted is the older $Exact; to go back to it, set " +
            "MACHINE_AGENT_VERSION=$Exact"
    }
}

# Whether so many bytes fit where a folder is or will be.
function Assert-Room([string] $Path, [long] $Bytes, [string] $Hint) {
    $root = [IO.Path]::GetPathRoot([IO.Path]::GetFullPath($Path))
    if ($root -notmatch '^[A-Za-z]:') { return } # of a share it is not known
    $drive = New-Object IO.DriveInfo -ArgumentList $root
    if (-not $drive.IsReady) { throw "there is no drive $root; $Hint" }
    if ($drive.AvailableFreeSpace -lt $Bytes) {
        throw ('{0} has {1} MB of free space, and {2} MB are needed; {3}' -f $root,
            [math]::Floor($drive.AvailableFreeSpace / 1048576), ([math]::Floor($Bytes / 1048576) + 1), $Hint)
    }
}

# With MACHINE_RELEASE_KEY only; without it the agent checks its own updates, and TLS this download.
function Assert-Signature([string] $Address, [string] $Manifest) {
    $key = Get-Setting 'MACHINE_RELEASE_KEY'
    if (-not $key) { return }
    if (-not (Test-Path -LiteralPath $key)) { throw "there is no file $key" }
    if (-not (Get-Command openssl -ErrorAction SilentlyContinue)) {
        throw 'openssl is needed to check the signature with MACHINE_RELEASE_KEY'
    }
    $signature = "$Manifest.sig"
    Save-Address "$Address.sig" $signature
    & openssl pkeyutl -verify -pubin -inkey $key -rawin -in $Manifest -sigfile $signature | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "the release is not signed with the key in $key" }
}

function Get-Cloud([string] $Credentials) {
    $cloud = Get-Setting 'MACHINE_CLOUD_ADDRESS'
    if (-not $cloud -and (Test-Path -LiteralPath $Credentials)) {
        $cloud = (Get-Content -Raw -LiteralPath $Credentials | ConvertFrom-Json).cloud.app_address
    }
    if (-not $cloud) { throw 'set MACHINE_CLOUD_ADDRESS to the address of your cloud' }
    $cloud = $cloud.TrimEnd('/')
    Assert-Address 'MACHINE_CLOUD_ADDRESS' $cloud
    $cloud
}

# What is sent and what is run would be open to everybody on the way.
function Assert-Address([string] $Name, [string] $Address) {
    if ($Address -notmatch '^(https://.+|http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?)$') {
        throw "$Name must look like https://cloud.example, and is $Address"
    }
}

# Only administrators and the system may read the folder and what will be in it.
function Protect-Folder([string] $Path) {
    if (Test-Path -LiteralPath $Path) {
        # Who made it owns it, and could give themselves every right again.
        $owner = (Get-Acl -LiteralPath $Path).GetOwner([Security.Principal.SecurityIdentifier]).Value
        if (@('S-1-5-18', 'S-1-5-32-544') -notcontains $owner) {
            throw "$Path belongs to $owner; remove it, or take it over: takeown /F `"$Path`" /A /R /D Y"
        }
    }
    New-Item -ItemType Directory -Force -Path $Path | Out-Null
    & icacls.exe $Path /inheritance:r /grant:r '*S-1-5-18:(OI)(CI)F' '*S-1-5-32-544:(OI)(CI)F' | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "the permissions of $Path could not be set" }
    & icacls.exe $Path /setowner '*S-1-5-32-544' | Out-Null
    if ($LASTEXITCODE -ne 0) { throw "the owner of $Path could not be set" }
}

function Save-Credentials([string] $Cloud, [string] $Credentials) {
    $id = Get-Setting 'MACHINE_API_KEY_ID'
    $key = Get-Setting 'MACHINE_API_KEY'
    $part = Get-Setting 'MACHINE_PART_ID'
    if (-not ($id -or $key -or $part)) {
        $token = Get-Setting 'MACHINE_ENROLLMENT_TOKEN'
        if (-not ($token -or (Test-Path -LiteralPath $Credentials))) {
            throw "there is no $Credentials; put it there, or set MACHINE_ENROLLMENT_TOKEN, or " +
                'MACHINE_API_KEY_ID, MACHINE_API_KEY and MACHINE_PART_ID'
        }
        return
    }
    if (-not ($id -and $key -and $part)) {
        throw 'MACHINE_API_KEY_ID, MACHINE_API_KEY and MACHINE_PART_ID go together'
    }
    if ($part -notmatch '^[A-Za-z0-9_-]+$') { throw "MACHINE_PART_ID is no part's id" }
    $address = "$Cloud/api/json1/config?client=true&id=$([Uri]::EscapeDataString($part))"
    $headers = @{ key_id = $id; key = $key }
    try {
        $found = Invoke-RestMethod -UseBasicParsing -MaximumRedirection 0 -Uri $address -Headers $headers
    } catch {
        throw "the cloud gave no credentials for part ${part}; is the key right? $(Get-Why $_)"
    }
    if ($found.cloud.id -ne $part) { throw 'what the cloud answered is no credentials file' }
    Protect-Folder (Split-Path -Parent $Credentials)
    $new = "$Credentials.new"
    [IO.File]::WriteAllText($new, ($found | ConvertTo-Json -Depth 10))
    if (Test-Path -LiteralPath $Credentials) {
        Copy-Item -Force -LiteralPath $Credentials -Destination "$Credentials.old"
    }
    Move-Item -Force -LiteralPath $new -Destination $Credentials
    Write-Output "wrote $Credentials"
}

# Why nothing came, in a line for people.
function Get-Why($Failure) {
    $reason = $Failure.Exception
    while ($reason.InnerException) { $reason = $reason.InnerException }
    $text = $reason.Message
    if ("$($Failure.Exception.Message) $text" -match 'certificate|SSL|TLS') {
        $day = (Get-Date).ToUniversalTime().ToString('yyyy-MM-dd')
        $text = "is the clock right, $day, and the certificate? $text"
    }
    $text
}

# Fetches an address to a file. Redirects are followed, but none from https to http, where anybody on
# the way could answer; Invoke-WebRequest cannot be told so in every PowerShell.
function Save-Address([string] $Address, [string] $Path) {
    $from = [Uri] $Address
    for ($step = 0; $step -le 5; $step++) {
        $request = [Net.HttpWebRequest] [Net.WebRequest]::Create($from)
        $request.AllowAutoRedirect = $false
        $request.Timeout = 60000
        $request.ReadWriteTimeout = 60000
        $answer = $request.GetResponse()
        try {
            $status = [int] $answer.StatusCode
            $location = $answer.Headers['Location']
            if ($status -eq 200) {
                $source = $answer.GetResponseStream()
                $target = [IO.File]::Create($Path)
                try { $source.CopyTo($target) } finally { $target.Dispose(); $source.Dispose() }
                return
            }
        } finally {
            $answer.Close()
        }
        if ($status -lt 300 -or $status -ge 400 -or -not $location) {
            throw "$from answered with status $status"
        }
        $to = New-Object Uri -ArgumentList $from, $location
        if ($to.Scheme -ne 'https' -and ($to.Scheme -ne 'http' -or $from.Scheme -ne 'http')) {
            throw "$from leads to $to, which is not encrypted"
        }
        $from = $to
    }
    throw "$Address leads on and on"
}

# Brings the program into a folder, checked, and gives its path.
function Save-Agent([string] $Cloud, [string] $Folder, [string] $Dir) {
    $wanted = Get-Setting 'MACHINE_AGENT_VERSION' 'stable'
    $base = "$Cloud/releases/machine-agent"
    $downloads = (Get-Setting 'MACHINE_DOWNLOAD_URL').TrimEnd('/')
    if ($downloads) {
        Assert-Address 'MACHINE_DOWNLOAD_URL' $downloads
        $base = "$downloads/agent"
    }
    $file = 'machine-agent.exe'
    $address = "$base/$wanted/windows/amd64/$file.manifest"
    $manifest = Join-Path $Folder "$file.manifest"
    try {
        Save-Address $address $manifest
    } catch {
        throw "$base has no release $wanted of machine-agent for windows/amd64: $(Get-Why $_)"
    }
    $lines = [IO.File]::ReadAllText($manifest) -split "`n"
    $facts = @{}
    foreach ($line in $lines) {
        if ($line -match '^(\w+) (\S+)$') { $facts[$Matches[1]] = $Matches[2] }
    }
    if ($lines[0] -ne 'machine release 1' -or $facts['binary'] -ne 'machine-agent' -or
        $facts['platform'] -ne 'windows/amd64') {
        throw 'what the cloud answered does not describe machine-agent for windows/amd64'
    }
    # From here on the exact version: a channel may move on in between.
    $exact = $facts['version']
    if ($exact -notmatch '^[A-Za-z0-9.+-]+$') { throw "the release has a version that is none: $exact" }
    $size = 0L
    if (-not [long]::TryParse($facts['size'], [ref] $size)) { throw 'the release has no size' }
    $address = "$base/$([Uri]::EscapeDataString($exact))/windows/amd64/$file"
    Assert-Signature $address $manifest
    Assert-NotOlder $wanted $exact $Dir
    Assert-Room $Folder ($size + 1048576) 'set TEMP to another folder'
    # This version, the next one while both are there, and machine-server's two.
    Assert-Room $Dir (4 * $size) 'set MACHINE_DIR to another folder'
    Write-Output "downloading machine-agent $exact for windows/amd64" | Out-Host
    $path = Join-Path $Folder $file
    try {
        Save-Address $address $path
    } catch {
        throw "machine-agent $exact could not be downloaded: $(Get-Why $_)"
    }
    if ((Get-Item -LiteralPath $path).Length -ne $size) {
        throw 'the download is not as long as the release; try again'
    }
    if ((Get-FileHash -Algorithm SHA256 -LiteralPath $path).Hash -ne $facts['sha256']) {
        throw 'the download is not the release (SHA-256); try again'
    }
    & $path --version | Out-Null
    if ($LASTEXITCODE -ne 0) { throw 'machine-agent does not run here; nothing was changed' }
    $path
}

function Install-Agent {
    Assert-Computer
    $credentials = Get-Setting 'MACHINE_CREDENTIALS_FILE' 'C:\etc\machine.json'
    $dir = Get-Setting 'MACHINE_DIR' 'C:\opt\machine'
    $cloud = Get-Cloud $credentials
    $work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
    Protect-Folder $work
    try {
        Save-Credentials $cloud $credentials
        $agent = Save-Agent $cloud $work $dir
        & $agent --install --dir $dir --config $credentials
        if ($LASTEXITCODE -ne 0) { throw "machine-agent --install ended with $LASTEXITCODE" }
    } finally {
        Remove-Item -Recurse -Force -LiteralPath $work
    }
}

Install-Agent
