/** The systemd unit of the agent. */
import { UPDATE_EXIT_CODE } from "../updates/guard/trial_file.ts";

export const SERVICE = "machine-agent.service";

/** First line of what we write, by which a unit of ours is distinguished from one of the user's. */
export const MADE_BY = "# Written by machine-agent --install; change it with: systemctl edit";

export interface UnitOptions {
  /** As the machine sees them, absolute. */
  readonly dir: string;
  readonly credentialsFile: string;
  readonly defaultsFile: string;
  /** How long the agent takes at most to end the server and itself. */
  readonly stopMs: number;
}

/**
 * Ready is reported when state and lock are open, before the server runs; a slow card takes a
 * while.
 */
const START_LIMIT_S = 120;
/** The agent shows that it is alive four times in this. */
const WATCHDOG_S = 120;
/** On top of the agent's own limit, before systemd kills everything. */
const STOP_MARGIN_S = 20;

/** The text of the unit. @throws Error for a path that a unit cannot hold. */
export function systemdUnit(options: UnitOptions): string {
  const { dir, credentialsFile, defaultsFile, stopMs } = options;
  const bin = `${dir}/bin`;
  const command = [
    quoted(`${bin}/machine-agent`),
    ...["--config", quoted(credentialsFile)],
    ...["--defaults", quoted(defaultsFile)],
    ...["--dir", quoted(dir)],
  ].join(" ");
  return `${MADE_BY} ${SERVICE}
[Unit]
Description=Machine agent: runs, watches and updates machine-server
# Only an order: the machine has to work without a network, too.
After=network.target NetworkManager.service systemd-networkd.service bluetooth.service
# It has to come back however often it failed.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
# Puts the previous version back when a new one does not prove itself. Never holds up the start.
ExecStartPre=-${quoted(`${bin}/machine-agent-guard`)}
ExecStart=${command}
# systemctl reload: restarts machine-server as soon as it allows that.
ExecReload=/bin/kill -s HUP $MAINPID
Restart=always
RestartSec=5
# Its exit code for an update of its own.
SuccessExitStatus=${UPDATE_EXIT_CODE}
TimeoutStartSec=${START_LIMIT_S}
# Falls silent when a part of the agent is stuck, and is started again.
WatchdogSec=${WATCHDOG_S}
# The agent shuts the server down gracefully and kills it after ${
    Math.round(stopMs / 1000)
  } s; this is more.
TimeoutStopSec=${Math.ceil(stopMs / 1000) + STOP_MARGIN_S}
# TERM to the agent alone, which stops the server and that its modules; KILL at last to what is left.
KillMode=mixed
# A module that takes too much memory is killed alone, and restarted by the server.
OOMPolicy=continue
# Everything below inherits it, so it only puts the machine before a login or a browser; within the
# service the largest goes first.
OOMScoreAdjust=-200
# A connection is a file; drivers and logs are some more.
LimitNOFILE=65536
# A dump of the memory would hold the machine's secrets.
LimitCORE=0
# Without these a service has no home; the server and its modules look there.
Environment=HOME=%h
Environment=MACHINE_AGENT_SERVICE=${SERVICE}
SyslogIdentifier=machine-agent

# Modules, jobs and the shell service run below the agent and do what only root can: open devices and
# GPIO (PrivateDevices, DevicePolicy), write below /sys and /proc (ProtectKernelTunables), load kernel
# modules (ProtectKernelModules), set the clock (ProtectClock), run containers (ProtectControlGroups,
# RestrictNamespaces), use CAN, Bluetooth and raw sockets (RestrictAddressFamilies), run in real time
# (RestrictRealtime), call sudo, mount or ping (NoNewPrivileges, CapabilityBoundingSet,
# RestrictSUIDSGID, SystemCallFilter), install packages (ProtectSystem), use files of users
# (ProtectHome) and share /tmp with other programs (PrivateTmp); JavaScript compiles to memory that
# is executed (MemoryDenyWriteExecute). These limits are therefore not set here. Who runs no such
# modules can add them with the command above.

[Install]
WantedBy=multi-user.target
`;
}

/** A word of a command line in a unit. */
function quoted(path: string): string {
  if (/[\n\r"\\]/.test(path)) {
    throw new Error(`the path ${JSON.stringify(path)} cannot stand in a systemd unit`);
  }
  // A percent sign begins a specifier, a dollar sign a variable.
  const text = path.replaceAll("%", "%%").replaceAll("$", "$$$$");
  return /[^\w@%+=:,./$-]/.test(text) ? `"${text}"` : text;
}
