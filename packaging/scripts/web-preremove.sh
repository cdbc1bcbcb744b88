#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of airtuned-web. For dpkg ("remove" or "upgrade"), rpm (0, or 1 when one is left)
# and apk.
set -e

case "$1" in
upgrade | failed-upgrade | deconfigure | 1) exit 0 ;;
esac

if command -v systemctl >/dev/null; then
	if [ -d /run/systemd/system ]; then
		systemctl stop airtuned-web.service || true
	fi
	systemctl disable airtuned-web.service >/dev/null 2>&1 || true
elif [ -x /etc/init.d/airtuned-web ] && command -v rc-service >/dev/null; then
	rc-service --ifstarted airtuned-web stop || true
	rc-update del airtuned-web >/dev/null 2>&1 || true
fi
