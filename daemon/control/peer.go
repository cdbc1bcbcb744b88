package control

import (
	"os/user"
	"slices"
	"strconv"
)

// Peer is the process at the other end of the socket, as it was when it
// connected.
type Peer struct {
	PID    int32
	UID    uint32
	Groups []uint32 // its primary group and the supplementary ones
}

// in reports whether the peer is in a group; none is -1.
func (p Peer) in(gid int) bool { return gid >= 0 && slices.Contains(p.Groups, uint32(gid)) }

// lookupGroup returns the number of a group.
func lookupGroup(name string) (int, error) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return -1, err
	}
	return strconv.Atoi(g.Gid)
}
