/** The programs that put a training script behind walls: what they see, and their way out. */

/**
 * No memory dumps; no file larger than the disk limit; the first to go when memory is used up. Later
 * on, behind the cloud itself in the line for processors.
 */
export const LIMITS = `ulimit -c 0
ulimit -f "$1"
shift
{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null
`;

/** What of the system everybody has: programs and libraries. */
const SYSTEM = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /nix/store";
/** What programs look up; nothing of it is secret. */
const SETTINGS = [
  ...["alternatives", "ca-certificates", "crypto-policies", "debian_version", "fonts", "group"],
  ...["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "magic", "mime.types"],
  ...["nsswitch.conf", "os-release", "passwd", "pip.conf", "pki/ca-trust", "pki/tls/certs"],
  ...["pki/tls/cert.pem", "protocols", "services", "ssl/certs", "ssl/cert.pem"],
  ...["ssl/openssl.cnf", "timezone", "OpenCL", "vulkan"],
].map((name) => `/etc/${name}`).join(" ");
/** Of the kernel: what says how many processors there are, and processors of graphics. */
const KERNEL = "/sys/devices/system /sys/class/drm /sys/bus/pci /sys/devices/pci*";
const DEVICES = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty " +
  "/dev/nvidia* /dev/dri /dev/kfd";

/**
 * First process of namespaces of its own. Arguments: the largest file in blocks, an empty folder,
 * the cloud's folder, where to start, `MODE SOURCE TARGET` for each place, `--`, and the program.
 *
 * The root is rebuilt: what is not put into it is not there, whoever may read it. What is put is
 * read-only but for the places of mode `own` (`/tmp` and the like) and `rw`. When it ends the kernel ends all others.
 */
export const WALLED = `${LIMITS}set -e
PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin
root=$1 data=$2 cwd=$3
shift 3
{ echo 0 >/proc/sys/user/max_user_namespaces; } 2>/dev/null || :
mount -t tmpfs -o size=4m,mode=755,nosuid,nodev tmpfs "$root"
put() {
  target=$root$2
  if [ -d "$1" ]; then mkdir -p "$target"; else
    mkdir -p "\${target%/*}"
    [ -e "$target" ] || : >"$target"
  fi
  mount --no-canonicalize --bind "$1" "$target" 2>/dev/null ||
    mount --no-canonicalize --rbind "$1" "$target"
}
for path in ${SYSTEM}; do
  if [ -L "$path" ]; then
    link=$(readlink -f "$path")
    ln -s "\${link#/}" "$root$path"
  elif [ -d "$path" ]; then put "$path" "$path"; fi
done
for path in ${SETTINGS} ${KERNEL} ${DEVICES} /proc; do
  if [ -e "$path" ]; then put "$path" "$path"; fi
done
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mkdir -p "$root/tmp" "$root/var/tmp" "$root/dev/shm" "$root/run" "$root/old"
writable=
while [ "$1" != -- ]; do
  mode=$1 source=$2 place=$3
  shift 3
  case $mode in
    base)
      case $place in /usr/*) ;; *) put "$source" "$place" ;; esac ;;
    hide) [ ! -d "$root$data" ] || mount -t tmpfs -o size=1m,mode=755 tmpfs "$root$data" ;;
    own | ro) put "$source" "$place" ;;
    *)
      if [ -z "$writable" ]; then
        writable=yes
        while read -r _ _ _ _ at flags _; do
          at=$(printf %b "$at")
          case $at in
            "$root/tmp" | "$root/var/tmp" | "$root/dev/shm") ;;
            "$root"/*) mount -o "remount,bind,ro,\${flags#*,}" "$at" ;;
          esac
        done </proc/self/mountinfo
      fi
      put "$source" "$place" ;;
  esac
done
shift
cd "$root"
pivot_root . old
cd /
umount -l old
rmdir old
mount -o remount,bind,ro,nosuid,nodev /
cd "$cwd"
"$@"
`;

/** Without the right to become anybody else, whatever it runs. */
const POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"];

/**
 * Python that gives a network of its own its addresses, then runs a program. Arguments:
 * `NAME=ADDRESS:PORT` for each address that leads to the socket `NAME` of a folder, the folder,
 * `--`, and the program.
 */
const NETWORK = `
import fcntl, os, socket, struct, sys
UP, ADD = 0x8914, 0x8916
split = sys.argv.index("--")
*wanted, folder = sys.argv[1:split]
program = sys.argv[split + 1:]
plain = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(plain, UP, struct.pack("16sH22x", b"lo", 0x41))
listening = []
for number, each in enumerate(wanted):
    name, _, rest = each.partition("=")
    address, _, port = rest.rpartition(":")
    if ":" in address:
        family, packed = socket.AF_INET6, socket.inet_pton(socket.AF_INET6, address)
        if address != "::1":
            with socket.socket(family, socket.SOCK_DGRAM) as six:
                fcntl.ioctl(six, ADD, struct.pack("16sIi", packed, 128, 1))
    else:
        family, packed = socket.AF_INET, socket.inet_aton(address)
        if packed[0] != 127:
            label = ("lo:%d" % number).encode()
            fcntl.ioctl(plain, ADD, struct.pack("16sHH4s16x", label, family, 0, packed))
    taken = socket.socket(family)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # A new address is not ready at once: IPV6_FREEBIND, IP_FREEBIND.
    taken.setsockopt(*((41, 78) if family == socket.AF_INET6 else (0, 15)), 1)
    taken.bind((address, int(port)))
    taken.listen(128)
    taken.set_inheritable(True)
    listening.append((name, taken))
plain.close()
if listening and os.fork() == 0:
    if os.fork() > 0: os._exit(0)
    null = os.open("/dev/null", os.O_RDWR)
    for number in range(3): os.dup2(null, number)
    given = ["%s/%s=%d" % (folder, name, taken.fileno()) for name, taken in listening]
    os.execvp("${POWERLESS[0]}", ${
  JSON.stringify(POWERLESS)
} + [sys.executable, "-I", "-S", "-c", FORWARD] + given)
if listening: os.wait()
for _, taken in listening: taken.close()
os.execvp("nice", ["nice", "-n", "10"] + ${JSON.stringify(POWERLESS)} + program)
`;

/** Python that joins each connection to an address with one to a socket outside. */
const FORWARD = `
import asyncio, socket, sys
async def copy(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof(): writer.write_eof()
    except OSError:
        pass
def joined(path):
    async def handle(reader, writer):
        try:
            out_reader, out_writer = await asyncio.open_unix_connection(path)
        except OSError:
            return writer.close()
        await asyncio.gather(copy(reader, out_writer), copy(out_reader, writer))
        writer.close()
        out_writer.close()
    return handle
async def main():
    for each in sys.argv[1:]:
        path, _, number = each.rpartition("=")
        await asyncio.start_server(joined(path), sock=socket.socket(fileno=int(number)))
    await asyncio.Event().wait()
asyncio.run(main())
`;

/** {@link NETWORK} with what forwards, as it is given to Python. */
export const NETWORK_PROGRAM = `FORWARD = ${JSON.stringify(FORWARD)}\n${NETWORK}`;
