package sysfs

import (
	"fmt"
	"strconv"

	"airtuned/tree"
)

const tcpLimitOutputBytes = "sys/net/ipv4/tcp_limit_output_bytes"

// TCPLimitOutputBytes is how much each TCP socket of this host may have queued
// below TCP at most (tcp_output.c, tcp_small_queue_check).
func TCPLimitOutputBytes(proc tree.FS) (int64, error) {
	s, err := tree.ReadString(proc, tcpLimitOutputBytes)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: not a number: %q", tree.Join(proc, tcpLimitOutputBytes), s)
	}
	return n, nil
}

// SetTCPLimitOutputBytes changes that, for every socket of the network
// namespace.
func SetTCPLimitOutputBytes(proc tree.FS, n int64) error {
	return proc.Write(tcpLimitOutputBytes, []byte(strconv.FormatInt(n, 10)))
}
