#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For dpkg ("remove" or "upgrade"), rpm (0, or 1 when one is left) and apk.
set -e

case "$1" in
upgrade | failed-upgrade | deconfigure | 1) exit 0 ;;
esac

if command -v systemctl >/dev/null; then
	if [ -d /run/systemd/system ]; then
		systemctl stop airtuned.socket airtuned.service || true
	fi
	systemctl disable airtuned.socket airtuned.service >/dev/null 2>&1 || true
elif [ -x /etc/init.d/airtuned ] && command -v rc-service >/dev/null; then
	rc-service --ifstarted airtuned stop || true
	rc-update del airtuned >/dev/null 2>&1 || true
fi
# Whatever was running: what it left is put back while there is who can do it.
airtuned restore >/dev/null 2>&1 || true
