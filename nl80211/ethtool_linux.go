package nl80211

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Firmware returns the firmware version that the driver of an interface tells
// (ETHTOOL_GDRVINFO; net/wireless/ethtool.c, cfg80211_get_drvinfo), or "" if it
// tells none. The error wraps unix.ENODEV if there is no such interface.
func (c *Client) Firmware(ifname string) (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("firmware version of %s: open a socket: %w", ifname, err)
	}
	defer unix.Close(fd)
	info, err := unix.IoctlGetEthtoolDrvinfo(fd, ifname)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("firmware version of %s: %w", ifname, err)
	}
	return firmwareVersion(info.Fw_version[:]), nil
}

// firmwareVersion reads a C string, where "N/A" stands for no version.
func firmwareVersion(b []byte) string {
	if v := unix.ByteSliceToString(b); v != "N/A" {
		return v
	}
	return ""
}
