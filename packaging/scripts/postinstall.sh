#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For dpkg ("configure", and the version before), rpm (1, or 2 when there was
# one before) and apk (the version).
set -e

case "$1" in
configure) first=$([ -n "$2" ] || echo yes) ;;
2) first= ;;
abort-*) exit 0 ;;
*) first=yes ;;
esac

# The group whose members may ask the daemon.
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers airtuned.conf
elif ! grep -q '^airtuned:' /etc/group; then
	if command -v groupadd >/dev/null; then groupadd --system airtuned; else addgroup -S airtuned; fi
fi

command -v systemctl >/dev/null || exit 0
if [ -n "$first" ]; then
	# What the distribution wants of new services.
	systemctl preset airtuned.service >/dev/null 2>&1 || true
fi
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload || true
# Debian's way asks policy-rc.d.
invoke=$(command -v deb-systemd-invoke || echo systemctl)
if [ -z "$first" ]; then
	"$invoke" try-restart airtuned.service || true
elif systemctl --quiet is-enabled airtuned.service; then
	"$invoke" start airtuned.service || true
fi
