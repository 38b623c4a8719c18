/** Programs that some tests start, beyond those that the README requests. */
import process from "node:process";
import { delimiter, join } from "node:path";

/** One of them, and how it is had. */
export interface Tool {
  /**
   * A program's name, looked for as {@link isThere} says, or the absolute path of a file; `a|b`:
   * one of them.
   */
  readonly finds: readonly string[];
  /** Debian's packages that bring it. */
  readonly packages: readonly string[];
}

const tool = (finds: string, packages: string): Tool => ({
  finds: finds.split(" "),
  packages: packages.split(" "),
});

/**
 * All of them but Go, which `tools/go.sh` finds and fetches. `.ci/run` installs what is missing (`tools/test/packages.ts` prints it); `make test`
 * skips the tests that request it with `skips.ts`.
 */
export const TOOLS = {
  "arm64 emulation": tool(
    "qemu-aarch64-static /usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1 " +
      "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1 /usr/aarch64-linux-gnu/lib/libstdc++.so.6",
    "qemu-user-static libc6-arm64-cross libgcc-s1-arm64-cross libstdc++6-arm64-cross",
  ),
  bluez: tool("bluetoothctl", "bluez"),
  chromium: tool("chromium-headless-shell|chromium", "chromium-headless-shell"),
  // The name in Debian 12 of one that fetches crates without a project.
  cargo: tool("cargo", "cargo-web"),
  "cortex-m": tool(
    "arm-none-eabi-gcc /usr/lib/arm-none-eabi/lib/libc.a",
    "gcc-arm-none-eabi libnewlib-arm-none-eabi",
  ),
  coturn: tool("turnserver", "coturn"),
  curl: tool("curl", "curl"),
  dbus: tool("dbus-daemon", "dbus"),
  dbusmock: tool("/usr/lib/python3/dist-packages/dbusmock/__init__.py", "python3-dbusmock"),
  dnsmasq: tool("dnsmasq", "dnsmasq-base"),
  dpkg: tool("dpkg", "dpkg"),
  ffmpeg: tool("ffmpeg", "ffmpeg"),
  fish: tool("fish", "fish"),
  haproxy: tool("haproxy", "haproxy"),
  hostapd: tool("hostapd", "hostapd"),
  iproute2: tool("ip ss", "iproute2"),
  minisign: tool("minisign", "minisign"),
  mosquitto: tool("mosquitto mosquitto_passwd", "mosquitto"),
  mount: tool("mount umount", "mount"),
  "network-manager": tool("NetworkManager nmcli", "network-manager"),
  openssl: tool("openssl", "openssl"),
  pip: tool("python3:pip", "python3-pip"),
  podman: tool("podman crun", "podman crun"),
  postgresql: tool("initdb postgres", "postgresql"),
  python: tool("python3:venv python3:ensurepip", "python3 python3-venv"),
  "python-cryptography": tool(
    "/usr/bin/python3 /usr/lib/python3/dist-packages/cryptography/__init__.py",
    "python3 python3-cryptography",
  ),
  "qemu-system-arm": tool("qemu-system-arm", "qemu-system-arm"),
  rpm: tool("rpmbuild rpm", "rpm"),
  rpmlint: tool("rpmlint", "rpmlint"),
  ruby: tool("ruby", "ruby"),
  "squashfs-tools": tool("mksquashfs unsquashfs", "squashfs-tools"),
  "systemd-analyze": tool("systemd-analyze", "systemd"),
  "systemd-container": tool("systemd-nspawn /usr/lib/systemd/systemd", "systemd-container systemd"),
  unshare: tool("unshare setpriv nsenter", "util-linux"),
  wget: tool("wget", "wget"),
  wixl: tool("wixl msibuild msiinfo msiextract", "wixl msitools"),
  wpa_supplicant: tool("wpa_supplicant", "wpasupplicant"),
  xtensa: tool(
    "xtensa-lx106-elf-gcc /usr/include/newlib/stdio.h",
    "gcc-xtensa-lx106 libnewlib-dev",
  ),
  xvfb: tool("Xvfb", "xvfb"),
  zsh: tool("zsh", "zsh"),
} as const satisfies Readonly<Record<string, Tool>>;

export type ToolName = keyof typeof TOOLS;

/** Where Debian keeps programs that are not on everybody's `PATH`. */
const MORE_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/**
 * Whether everything that a tool is found by is there: a program on `PATH`, in the folders of
 * system programs or (PostgreSQL's) below `/usr/lib/postgresql`; a file; a module of Python,
 * as `python3:pip`.
 */
export function isThere({ finds }: Tool, path: string | undefined = process.env.PATH): boolean {
  return finds.every((found) => found.split("|").some((one) => isFound(one, path)));
}

function isFound(found: string, path: string | undefined): boolean {
  if (found.startsWith("/")) return isFile(found);
  const [program = "", module] = found.split(":");
  const file = programPath(program, path);
  return file !== undefined && (module === undefined || hasModule(file, module));
}

/**
 * The path of a Chromium; undefined when there is none. The one without windows comes first, as it
 * starts with half the processor time.
 */
export function browserPath(path: string | undefined = process.env.PATH): string | undefined {
  return programPath("chromium-headless-shell", path) ?? programPath("chromium", path);
}

/** The path of a program, looked for as in {@link isThere}; undefined when there is none. */
export function programPath(
  name: string,
  path: string | undefined = process.env.PATH,
): string | undefined {
  const folders = [
    ...(path ?? "").split(delimiter).filter(Boolean),
    ...(Deno.build.os === "windows" ? [] : [...MORE_FOLDERS, ...postgresFolders()]),
  ];
  const endings = Deno.build.os === "windows" ? [".exe", ".cmd", ".bat"] : [""];
  return folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending)))
    .find(isFile);
}

function hasModule(python: string, module: string): boolean {
  const { success } = new Deno.Command(python, {
    args: ["-c", `import ${module}`],
    stdout: "null",
    stderr: "null",
  }).outputSync();
  return success;
}

/** Debian keeps its programs apart, one folder a version. The newest is first. */
function postgresFolders(): string[] {
  const root = "/usr/lib/postgresql";
  try {
    return [...Deno.readDirSync(root)].map(({ name }) => join(root, name, "bin")).sort().reverse();
  } catch {
    return [];
  }
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
