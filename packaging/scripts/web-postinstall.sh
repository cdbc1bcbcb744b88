#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of airtuned-web. For dpkg ("configure", and the version before), rpm (1, or 2
# when there was one before) and apk (the version).
set -e

case "$1" in
configure) first=$([ -n "$2" ] || echo yes) ;;
2) first= ;;
abort-*) exit 0 ;;
*) first=yes ;;
esac

command -v systemctl >/dev/null || exit 0
if [ -n "$first" ]; then
	# What the distribution wants of new services.
	systemctl preset airtuned-web.service >/dev/null 2>&1 || true
fi
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload || true
# Debian's way asks policy-rc.d.
invoke=$(command -v deb-systemd-invoke || echo systemctl)
if [ -z "$first" ]; then
	"$invoke" try-restart airtuned-web.service || true
elif systemctl --quiet is-enabled airtuned-web.service; then
	"$invoke" start airtuned-web.service || true
fi
