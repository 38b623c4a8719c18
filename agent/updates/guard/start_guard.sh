#!/bin/sh
# machine-agent-guard: runs before every start of machine-agent and puts the previous version back
# when a new one on trial does not prove itself. It is no part of any version of the agent and uses
# none, so that a broken one cannot take it along. Whatever goes wrong here, the start goes on: the
# exit code is always 0, and a line on standard error says what was wrong.
#
#   machine-agent-guard                 before a start
#   machine-agent-guard --remaining     prints the seconds that a running trial still has
#   machine-agent-guard --expire UNIT   restarts the service if a running trial has none left
#
# It works in the folder above its own (DIR/bin/machine-agent-guard: DIR) with these files:
#   bin/machine-agent            link to the version in use
#   bin/machine-agent-previous   link to the version before it
#   etc/agent-trial              there while a version is on trial; see trial_file.ts
#   etc/agent-rolled-back        written here for the agent to tell the cloud
#
# A trial ends badly after 3 starts in one boot of the host, after 10 boots, or when its time is
# over. The time is counted by the kernel's uptime: clocks without a battery jump.
set -u

MAX_STARTS=3
MAX_BOOTS=10
DEFAULT_LIMIT=900

self=$0
dir=$(CDPATH='' cd -- "$(dirname -- "$0")/.." 2>/dev/null && pwd -P) || dir=
link=$dir/bin/machine-agent
previous_link=$dir/bin/machine-agent-previous
trial_file=$dir/etc/agent-trial
note_file=$dir/etc/agent-rolled-back
proc=${MACHINE_GUARD_PROC:-/proc}

say() {
  printf 'machine-agent-guard: %s\n' "$*" >&2
}

# A program that can be started.
runs() {
  [ -n "$1" ] && [ -f "$1" ] && [ -x "$1" ]
}

is_number() {
  case $1 in
    '' | *[!0-9]*) return 1 ;;
  esac
  [ "${#1}" -le 9 ]
}

# To disk; old tools know only how to write out everything.
flush() {
  sync "$1" 2>/dev/null || sync 2>/dev/null
}

# Replaces FILE by standard input so that it is the old or the new one, whole, at any moment.
replace_file() {
  rm -f "$1.guard-tmp" 2>/dev/null
  cat >"$1.guard-tmp" 2>/dev/null && flush "$1.guard-tmp" && mv -f "$1.guard-tmp" "$1" 2>/dev/null &&
    flush "$(dirname -- "$1")"
}

# replace_link LINK TARGET, likewise.
replace_link() {
  rm -f "$1.guard-tmp" 2>/dev/null
  ln -s "$2" "$1.guard-tmp" 2>/dev/null && mv -f "$1.guard-tmp" "$1" 2>/dev/null &&
    flush "$(dirname -- "$1")"
}

# Sets up and boot: seconds since the host started, and which start it was.
read_clock() {
  up=
  read -r up _ 2>/dev/null <"$proc/uptime"
  up=${up%%.*}
  is_number "$up" || up=0
  boot=
  read -r boot 2>/dev/null <"$proc/sys/kernel/random/boot_id"
  [ -n "$boot" ] || boot=unknown
}

# Sets the fields of the trial file; fails when it is damaged.
read_trial() {
  head=
  trial=
  previous=
  limit=
  starts=
  boots=
  in_boot=
  until=
  last=
  while IFS= read -r line; do
    [ -n "$head" ] || head=$line
    last=$line
    case $line in
      trial=*) trial=${line#trial=} ;;
      previous=*) previous=${line#previous=} ;;
      limit=*) limit=${line#limit=} ;;
      starts=*) starts=${line#starts=} ;;
      boots=*) boots=${line#boots=} ;;
      boot=*) in_boot=${line#boot=} ;;
      until=*) until=${line#until=} ;;
    esac
  done 2>/dev/null <"$trial_file"
  [ "$head" = "machine-agent trial 1" ] && [ "$last" = end ] && [ -n "$trial" ] &&
    [ -n "$previous" ] && is_number "$limit" && is_number "$starts" && is_number "$boots" &&
    { [ -z "$until" ] || is_number "$until"; }
}

write_trial() {
  printf '%s\n' 'machine-agent trial 1' "trial=$trial" "previous=$previous" "limit=$limit" \
    "starts=$starts" "boots=$boots" "boot=$in_boot" "until=$until" end | replace_file "$trial_file"
}

write_note() {
  printf '%s\n' 'machine-agent rollback 1' "from=$trial" "to=$previous" "reason=$1" \
    "at=$(date +%s)" end | replace_file "$note_file"
}

# Puts the previous version back. The note comes first and the trial file goes last: cut in between,
# the next start does the rest.
roll_back() {
  if ! runs "$previous"; then
    say "$1, but $previous cannot be started either; $trial stays"
    return
  fi
  say "$1; back to $previous"
  noted=yes
  write_note "$1" || noted=no
  if ! replace_link "$link" "$previous"; then
    say "cannot put $previous back: $link cannot be replaced"
    return
  fi
  rm -f "$trial_file" 2>/dev/null || say "cannot remove $trial_file"
  # The file that went may be the room that was missing.
  [ "$noted" = yes ] || write_note "$1" || say "cannot write $note_file"
  flush "$dir/etc"
}

# Seconds that the trial still has.
remaining() {
  [ -n "$until" ] && [ "$until" -gt "$up" ] && echo $((until - up)) && return
  echo 0
}

# A new version that neither proves itself nor ends must not stay: lets systemd come back here when
# the deadline is exceeded. A timer that is there from a start before holds the same moment. The unit of the
# service names itself in the variable.
arm_timer() {
  [ -n "${MACHINE_AGENT_SERVICE:-}" ] && command -v systemd-run >/dev/null 2>&1 || return
  systemd-run --quiet --collect --no-block --unit="machine-agent-trial-$until" \
    --on-active="$(remaining)s" -- "$self" --expire "$MACHINE_AGENT_SERVICE" >/dev/null 2>&1
}

# A start of the version on trial.
count_start() {
  if [ "$in_boot" = "$boot" ]; then
    if [ -n "$until" ] && [ "$up" -ge "$until" ]; then
      roll_back "the new version did not prove itself within $limit seconds"
      return
    fi
    starts=$((starts + 1))
  else
    # Switching the host off is no failure of the new version.
    boots=$((boots + 1))
    [ "$starts" -gt 0 ] || starts=1
    in_boot=$boot
    until=$((up + limit))
  fi
  if [ "$starts" -gt "$MAX_STARTS" ]; then
    roll_back "the new version was started $MAX_STARTS times and did not prove itself"
  elif [ "$boots" -gt "$MAX_BOOTS" ]; then
    roll_back "the host was started $MAX_BOOTS times and the new version did not prove itself"
  else
    write_trial || say "cannot count this start: $trial_file cannot be written"
    arm_timer
  fi
}

# The trial file says nothing, but the links still do.
recover_trial() {
  trial=$current
  previous=$(readlink "$previous_link" 2>/dev/null)
  limit=$DEFAULT_LIMIT
  starts=0
  boots=0
  in_boot=
  until=
  if runs "$previous" && [ "$previous" != "$current" ]; then
    say "$trial_file is damaged; the trial begins anew"
    return 0
  fi
  say "$trial_file is damaged and nothing else tells of a previous version; it is put aside"
  mv -f "$trial_file" "$trial_file.damaged" 2>/dev/null
  return 1
}

check_trial() {
  [ -f "$trial_file" ] || return
  read_trial || recover_trial || return
  if [ "$current" != "$trial" ]; then
    # Either the new version has not been put in place yet, which the agent will do, or it was put
    # back here and the power went before the last step.
    if [ -f "$note_file" ] && grep -qxF "from=$trial" "$note_file" 2>/dev/null; then
      rm -f "$trial_file" 2>/dev/null && flush "$dir/etc"
    fi
  elif ! runs "$trial"; then
    roll_back "the file of the new version is missing or cannot be run"
  else
    count_start
  fi
}

# Without a trial: a link that leads nowhere is fixed.
check_link() {
  current=$(readlink "$link" 2>/dev/null)
  runs "$link" && return
  previous=$(readlink "$previous_link" 2>/dev/null)
  if runs "$previous" && replace_link "$link" "$previous"; then
    say "$link led to no program; it leads to $previous now"
  else
    say "$link leads to no program"
  fi
}

# Whether the version in use is on trial and has been started in this boot.
is_on_trial() {
  [ -f "$trial_file" ] && read_trial && [ "$(readlink "$link" 2>/dev/null)" = "$trial" ] &&
    [ "$in_boot" = "$boot" ]
}

before_start() {
  current=$(readlink "$link" 2>/dev/null)
  check_trial
  check_link
}

main() {
  if [ -z "$dir" ] || [ ! -d "$dir/bin" ]; then
    say "cannot find the agent's folder from $self"
    return
  fi
  read_clock
  case ${1:-} in
    --remaining) is_on_trial && remaining ;;
    # The restart comes back here, and the time counts like any other reason.
    --expire) is_on_trial && [ "$(remaining)" -eq 0 ] && systemctl restart "$2" ;;
    *) before_start ;;
  esac
}

main "$@"
exit 0
