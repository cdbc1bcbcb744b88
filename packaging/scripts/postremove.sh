#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For dpkg ("remove", "purge" or "upgrade"), rpm (0, or 1 when one is left) and apk.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
case "$1" in
upgrade | failed-upgrade | abort-* | disappear | 1) exit 0 ;;
esac
# Original values that could not be put back are kept until the next boot.
if [ -z "$(ls /run/airtuned/originals 2>/dev/null)" ]; then
	rm -rf /run/airtuned
fi
if [ "$1" != remove ]; then
	rm -rf /run/airtuned
	if command -v groupdel >/dev/null; then
		groupdel airtuned 2>/dev/null || true
	else
		delgroup airtuned 2>/dev/null || true
	fi
fi
