/** For tests: what a script tries to get out of its walls. Each is an expression or statements. */

/** What the attempts need to know of the host outside. */
export interface Outside {
  /** Files that the cloud's user can read, and no script may. */
  readonly tlsKey: string;
  readonly cloudKey: string;
  readonly program: string;
  readonly home: string;
  readonly dataDir: string;
  readonly socket: string;
  readonly pid: number;
  /** Of a service on 127.0.0.1 that is not the cloud. */
  readonly port: number;
  /** An address of this host in its network; of no use where there is none. */
  readonly address: string;
}

const NAMESPACES = ["user", "mnt", "pid", "net", "ipc", "uts"];

/** Python by name. One that ends without an exception has got out. */
export function waysOut(outside: Outside): Record<string, string> {
  const text = (value: string | number) => JSON.stringify(value);
  const { port, address } = outside;
  const python = (path: string) => `open(${text(path)}).read(1)`;
  const write = (path: string) => `open(${text(path)}, "w").write("x")`;
  const reach = (host: string, at: number | string = port) =>
    `socket.create_connection((${text(host)}, ${at}), 3)`;
  const proxied = (url: string) => `urllib.request.urlopen(${text(url)}, timeout=5)`;
  const run = (...words: string[]) => `subprocess.run(${JSON.stringify(words)}, check=True)`;
  const shared = NAMESPACES.map((kind) => {
    const path = `/proc/self/ns/${kind}`;
    const same = `assert os.readlink(${text(path)}) == ${text(Deno.readLinkSync(path))}`;
    return [`see the ${kind} namespace of the cloud`, same];
  });
  return {
    ...Object.fromEntries(shared),
    "read the cloud's TLS key": python(outside.tlsKey),
    "read the cloud's master key": python(outside.cloudKey),
    "read the cloud's program": python(outside.program),
    "read the passwords of the system": python("/etc/shadow"),
    "list the home of the cloud's user": `assert len(os.listdir(${text(outside.home)})) > 1`,
    "let a key in by ssh": `os.makedirs(${text(outside.home + "/.ssh")}); ${
      write(`${outside.home}/.ssh/authorized_keys`)
    }`,
    "list what lies beside the data": `assert len(os.listdir(os.path.dirname(${
      text(outside.dataDir)
    }))) > 5`,
    "write a job for cron": write("/etc/cron.d/machine-way-out"),
    "replace a program": write("/usr/local/bin/machine-way-out"),
    "change its Python": 'open(sys.base_prefix + "/machine-way-out", "w")',
    "change its environment": 'open(sys.prefix + "/machine-way-out", "w")',
    "write into the root": write("/machine-way-out"),
    "make the system writable": run("mount", "-o", "remount,rw,bind", "/usr"),
    "make the root writable": run("mount", "-o", "remount,rw", "/"),
    "take away a wall": run("umount", "-l", "/usr"),
    "mount something": run("mount", "-t", "tmpfs", "tmpfs", "/tmp"),
    "change its root": 'os.chroot("/tmp")',
    "make namespaces": run("unshare", "--user", "--map-root-user", "true"),
    // Without a mapping, which the walls refuse for another reason.
    "make a namespace of users": `subprocess.run([sys.executable, "-c", ${
      text("import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000))")
    }], check=True)`,
    "find the host's root": `assert any(os.path.exists("/" + name + ${
      text(outside.tlsKey)
    }) for name in os.listdir("/"))`,
    "become somebody else": "os.setuid(12345)",
    "make a device": 'os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0))',
    "see other processes": 'assert sum(n.isdigit() for n in os.listdir("/proc")) > 20',
    "signal the cloud": `os.kill(${outside.pid}, 0)`,
    "read the first process": 'open("/proc/1/environ").read()',
    "enter the first process's root": 'os.listdir("/proc/1/root")',
    "trace the first process":
      "assert ctypes.CDLL(None, use_errno=True).ptrace(0x4206, 1, 0, 0) == 0",
    "set a kernel parameter": write("/proc/sys/kernel/core_pattern"),
    "call the kernel's emergency keys": write("/proc/sysrq-trigger"),
    "set the host's name": 'socket.sethostname("way-out")',
    "set the clock": "time.clock_settime(time.CLOCK_REALTIME, time.time())",
    "take a better place for processors": "os.setpriority(os.PRIO_PROCESS, 0, 0)",
    "write larger files":
      "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))",
    "leave a memory dump": "assert resource.getrlimit(resource.RLIMIT_CORE)[1] != 0",
    "outlive others when memory is used up":
      'assert open("/proc/self/oom_score_adj").read().strip() != "1000"',
    "hold a capability":
      'assert any(int(l.split()[1], 16) for l in open("/proc/self/status") if l.startswith("Cap"))',
    "gain rights by a program": 'assert "NoNewPrivs:\\t1" not in open("/proc/self/status").read()',
    "read the variables of the cloud": 'os.environ["CLOUD_SECRET"]',
    "reach a service of this host": reach("127.0.0.1"),
    "reach it by IPv6": reach("::1"),
    "reach it by its address in the network": reach(address),
    "reach it by the proxy": proxied(`http://127.1.2.3:${port}/`),
    "reach it by the proxy and a tunnel": `tunnel("127.0.0.1:${port}")`,
    "reach it by a name": `tunnel("localhost:${port}")`,
    "reach it by a name with a dot": `tunnel("localhost.:${port}")`,
    "reach it by a number": `tunnel("2130706433:${port}")`,
    "reach it by a hexadecimal address": `tunnel("0x7f.1:${port}")`,
    "reach it by a mapped address": `tunnel("[::ffff:127.0.0.1]:${port}")`,
    "reach it by IPv6 and the proxy": `tunnel("[::1]:${port}")`,
    "reach it by its address and the proxy": `tunnel("${address}:${port}")`,
    "ask for the host's credentials": reach("169.254.169.254", 80),
    "ask for them by the proxy": proxied("http://169.254.169.254/latest/meta-data/"),
    "reach a private network by the proxy": `tunnel("10.0.0.1:80")`,
    "reach another one by the proxy": `tunnel("192.168.0.1:22")`,
    "reach a socket of this host": `socket.socket(socket.AF_UNIX).connect(${text(outside.socket)})`,
    "send a datagram": 'socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("1.1.1.1", 53))',
    "send raw packets": "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
    "give itself an address":
      'fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH22x", b"lo", 0x41))',
  };
}

/** The script that tries them: prints `refused NAME: WHY` or `OUT NAME` for each. */
export function tryingAll(ways: Readonly<Record<string, string>>): string {
  return `
import ctypes, fcntl, resource, socket, stat, struct, urllib.request
def tunnel(target):
    host, port = os.environ["https_proxy"].split("//")[1].split(":")
    with socket.create_connection((host, int(port)), 3) as way:
        way.settimeout(10)
        way.sendall(("CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (target, target)).encode())
        said = way.recv(4096).split(b"\\r\\n")[0].decode()
        if " 200 " not in said: raise OSError(said)
os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
for name, code in ${JSON.stringify(ways)}.items():
    try: exec(code, globals())
    except BaseException as error: print("refused %s: %r" % (name, error))
    else: print("OUT", name)
save()`;
}
