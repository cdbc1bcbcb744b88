#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What airtuned's package must do on a Debian system with systemd as PID 1. It
# changes that system: see test.sh, which boots one for it. With a radio (of
# mac80211_hwsim) all of it is tested, without one what needs none.

set -u
export LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin
deb=${1:?usage: inside.sh DEB}
limits=/sys/kernel/debug/ieee80211/phy0/aql_txq_limit
passed=0 failed=0

# ok WHAT COMMAND... wants the command to succeed.
ok() {
	local what=$1
	shift
	if out=$("$@" 2>&1); then
		passed=$((passed + 1))
		echo "ok    $what"
	else
		failed=$((failed + 1))
		echo "FAIL  $what: $(tail -n 4 <<<"$out")"
	fi
}

# is WANT COMMAND... wants that output.
is() {
	local want=$1 got
	shift
	got=$("$@" 2>&1)
	[[ $got == "$want" ]] || {
		echo "got \"$got\", want \"$want\""
		return 1
	}
}

# exits CODE TEXT COMMAND... wants that exit code, and the text in the output.
exits() {
	local code=$1 text=$2 got
	shift 2
	out=$("$@" 2>&1)
	got=$?
	[[ $got == "$code" && $out == *"$text"* ]] || {
		echo "exit $got, want $code with \"$text\": $out"
		return 1
	}
}

# soon COMMAND... waits for it to succeed.
soon() {
	local i
	for ((i = 0; i < 120; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.5
	done
	"$@"
}

property() { systemctl show -p "$1" --value airtuned.service; }
active() { [[ $(property ActiveState) == active ]]; }
as() { setpriv --reuid "$1" --regid "$1" --init-groups "${@:2}"; }
# knobs are the limits, one after the other, without the text around them.
knobs() { awk '/^(VO|VI|BE|BK)/ {printf "%s %s %s ", $1, $2, $3}' "$limits"; }
drop_in() {
	mkdir -p /run/systemd/system/airtuned.service.d
	printf '%s\n' "$@" >/run/systemd/system/airtuned.service.d/test.conf
	systemctl daemon-reload
}
everything() { find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /var/log -o -path /var/cache \
	-o -path /var/lib/dpkg \) -prune -o -print | LC_ALL=C sort; ls -d /run/airtuned 2>/dev/null; grep airtuned /etc/group; }

mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
radio=
[[ ! -e $limits ]] || radio=yes
echo "systemd $(systemctl --version | awk 'NR == 1 {print $2}'), kernel $(uname -r), radio: ${radio:-none}"

useradd -M member
useradd -M stranger
everything >/tmp/before
[[ ! $radio ]] || found=$(knobs)

ok "dpkg installs it" dpkg -i "$deb"
ok "it is active" soon active
ok "it is enabled" systemctl is-enabled airtuned.service
usermod -aG airtuned member

# Other limits than the kernel's, although on this radio they have no effect.
good='radios: [{policy: static, limits: {min: 1ms, max: 2ms}, force: true}]'
echo "$good" >/etc/airtuned.yaml
ok "reload with a good configuration" systemctl reload airtuned
if [[ $radio ]]; then
	changed() { [[ $(knobs) != "$found" ]]; }
	ok "it sets limits" soon changed
fi
pid=$(property MainPID)
echo "${good/static/statik}" >/etc/airtuned.yaml
ok "reload with a bad configuration fails" exits 1 "" systemctl reload airtuned
ok "and says why" grep -q 'unknown policy' <(journalctl -u airtuned)
ok "and the daemon goes on" is "$pid active" echo "$(property MainPID) $(property ActiveState)"
echo "$good" >/etc/airtuned.yaml
systemctl reload airtuned

ok "a member of the group reads the status" as member airtuned status
ok "another user is refused" exits 4 "not permitted" as stranger airtuned status
for command in reload "restore" "resume"; do
	ok "a member may not $command" exits 4 "" as member airtuned $command
done
ok "a member may not tune" exits 4 "" as member airtuned tune
[[ ! $radio ]] || ok "and nothing was changed" changed

kill -KILL "$(property MainPID)"
restarted() { active && [[ $(property MainPID) != "$pid" ]]; }
ok "it comes back after SIGKILL" soon restarted
if [[ $radio ]]; then
	ok "and sets limits again" soon changed
	ok "restore gives the values of before the crash" airtuned restore
	ok "which are" is "$found" knobs
	airtuned resume >/dev/null
fi

drop_in '[Service]' WatchdogSec=10s
systemctl restart airtuned
[[ ! $radio ]] || soon changed
pid=$(property MainPID)
ok "a daemon that hangs" kill -STOP "$pid"
ok "comes back" soon restarted
ok "by the watchdog" grep -q 'Watchdog timeout' <(journalctl -u airtuned)

drop_in '[Service]' 'ExecStart=' 'ExecStart=/bin/sleep 1000' TimeoutStartSec=3s Restart=no
ok "what never says READY is never active" exits 1 "" systemctl restart airtuned
rm -r /run/systemd/system/airtuned.service.d
systemctl daemon-reload
systemctl reset-failed airtuned
ok "start" systemctl start airtuned
[[ ! $radio ]] || soon changed
ok "stop" systemctl stop airtuned
[[ ! $radio ]] || ok "leaves every value as found" is "$found" knobs

ok "socket: start" systemctl start airtuned.socket
ok "socket: the service does not run" is inactive property ActiveState
ok "socket: a member's question starts it" as member airtuned status
ok "socket: it runs" active
ok "socket: stop" systemctl stop airtuned.socket airtuned.service

ok "exposure is at most 3.0" systemd-analyze security --threshold=30 airtuned.service
systemctl start airtuned
[[ ! $radio ]] || soon changed
pid=$(property MainPID)
ok "an upgrade" dpkg -i "$deb"
ok "keeps the configuration" is "$good" cat /etc/airtuned.yaml
ok "and starts the new program" soon restarted

# The page, where its package is there: ask PATH [HOST] prints the answer.
ask() (
	exec 3<>/dev/tcp/127.0.0.1/9642 || exit
	printf 'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' "$1" "${2:-localhost}" >&3
	cat <&3
)
says() { ask "$2" "${3:-localhost}" | grep -q "$1"; }
if [[ -e ${deb%.deb}-web.deb ]]; then
	ok "web: dpkg installs it" dpkg -i "${deb%.deb}-web.deb"
	ok "web: it sees the daemon" soon says '^ok' /healthz
	user=$(stat -c %u "/proc/$(systemctl show -p MainPID --value airtuned-web)")
	ok "web: as a user of its own ($user)" test "$user" -ge 61184
	ok "web: metrics" says '^airtuned_up 1' /metrics
	[[ ! $radio ]] || ok "web: of the radio" soon says '^airtuned_radio_info{.*phy="phy0"' /metrics
	ok "web: the page" says '<title>airtuned</title>' /
	ok "web: by its own names alone" says '421 Misdirected' / evil.example
	systemctl stop airtuned
	ok "web: it says that the daemon is away" soon says 'HTTP/1.0 503' /healthz
	systemctl start airtuned
	ok "web: and finds the next one" soon says '^ok' /healthz
	ok "web: exposure is at most 1.5" systemd-analyze security --threshold=15 airtuned-web.service
	echo "      $(systemd-analyze security airtuned-web.service | tail -n 1)"
	ok "web: dpkg purges it" dpkg -P airtuned-web
fi
userdel member
userdel stranger
ok "dpkg purges it" dpkg -P airtuned
useradd -M member
useradd -M stranger
[[ ! $radio ]] || ok "purge leaves every value as found" is "$found" knobs
everything >/tmp/after
ok "purge leaves nothing behind" diff /tmp/before /tmp/after

echo "$passed passed, $failed failed"
((failed == 0))
