#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Of airtuned-web. For dpkg, rpm and apk.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
