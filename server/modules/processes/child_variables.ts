/** Which of the server's environment variables continue to the programs that it starts. */

/** Names of more variables to pass on, with commas between; `*` at the end stands for anything. */
const PASS_VARIABLE = "MACHINE_PASS_ENV";

/** What programs need to run at all, and what says how the host is set up. */
const PASSED = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "COLORTERM", "NO_COLOR", "LANG"],
  ...["LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP", "HOSTNAME", "DISPLAY", "WAYLAND_DISPLAY"],
  ...["XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "LD_LIBRARY_PATH"],
  ...["DYLD_LIBRARY_PATH", "VIRTUAL_ENV", "JAVA_HOME", "GOPATH", "GOROOT", "CYCLONEDDS_URI"],
  // Ways through proxies, and whom to trust there.
  ...["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ...["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "DENO_CERT"],
  // Windows.
  ...["SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "USERNAME", "USERDOMAIN"],
  ...["USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PUBLIC"],
  ...["ALLUSERSPROFILE", "COMPUTERNAME", "NUMBER_OF_PROCESSORS", "PSMODULEPATH"],
]);
/** Beginnings of names: the host's languages, libraries and devices. */
const PASSED_GROUPS = [
  ...["MACHINE_", "VIAM_", "LC_", "XDG_", "PYTHON", "NODE_", "PIP_", "UV_", "DENO_"],
  ...["CUDA_", "NVIDIA_", "ROS_", "RMW_", "AMENT_", "COLCON_", "GST_", "ALSA_", "PULSE_"],
  ...["OMP_", "OPENCV_", "TF_", "LIBCAMERA_", "OPENBLAS_", "PROGRAMFILES", "COMMONPROGRAM"],
  "PROCESSOR_",
];
const SECRET = /KEY|SECRET|TOKEN|PASS(WORD|WD|PHRASE)|CREDENTIAL|COOKIE|AUTH(?!ORITY)/;

/**
 * The variables for modules, processes, shells and other programs. What opens something, such as
 * the credentials of a cloud, stays here unless {@link PASS_VARIABLE} names it.
 *
 * @param all those of this process.
 */
export function childVariables(all: Readonly<Record<string, string>>): Record<string, string> {
  const named = (all[PASS_VARIABLE] ?? "").split(",").map((name) => name.trim())
    .filter((name) => name !== "");
  const passed = Object.entries(all).filter(([name]) => isPassed(name) || isNamed(name, named));
  return Object.fromEntries(passed);
}

/** Names differ in case on Windows, and those of proxies everywhere. */
function isPassed(name: string): boolean {
  const upper = name.toUpperCase();
  if (PASSED.has(upper)) return true;
  return !SECRET.test(upper) && PASSED_GROUPS.some((group) => upper.startsWith(group));
}

function isNamed(name: string, named: readonly string[]): boolean {
  return named.some((one) => one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : name === one);
}
