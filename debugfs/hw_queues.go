package debugfs

import "airtuned/wlan"

// NoQueue stands where an interface has no hardware queue, for instance
// because it is down.
const NoQueue = -1

// HWQueues tells which hardware queues an interface uses, as indices into
// Queues, or NoQueue. ath10k has one for everything an interface sends.
type HWQueues struct {
	AC [wlan.NumAC]int
	// Cab is for broadcast after the beacon; only access points have it.
	Cab int
}

const hwQueues = "hw_queues"

// ParseHWQueues reads
//
//	AC queues: VO:0 VI:1 BE:2 BK:3
//	cab queue: 0
//
// where the second line is an access point's and 255 is none.
//
// Source: netdev:*/hw_queues (net/mac80211/debugfs_netdev.c, ieee80211_if_fmt_hw_queues).
func ParseHWQueues(b []byte, out *HWQueues) error {
	*out = HWQueues{Cab: NoQueue}
	if err := wholeLines(hwQueues, b); err != nil {
		return err
	}
	var found acSet
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		title, rest := cutLabel(line)
		switch string(title) {
		case "AC queues":
			for !blank(rest) {
				var label, value []byte
				label, rest = cutLabel(rest)
				value, rest = cutField(rest)
				q, ok := parseQueue(value)
				if !ok {
					return garbled(hwQueues, "AC queues", "AC:QUEUE", line)
				}
				if ac, ok := wlan.ParseAC(label); ok {
					out.AC[ac] = q
					found.add(ac)
				}
			}
		case "cab queue":
			value, _ := cutField(rest)
			q, ok := parseQueue(value)
			if !ok {
				return garbled(hwQueues, "cab queue", "a queue", value)
			}
			out.Cab = q
		}
	}
	if found != allACs {
		return found.missing(hwQueues, "AC queues")
	}
	return nil
}

func parseQueue(b []byte) (int, bool) {
	const invalid = 255 // IEEE80211_INVAL_HW_QUEUE
	v, ok := parseU32(b)
	if v == invalid {
		return NoQueue, ok
	}
	return int(v), ok && v < invalid
}

// HWQueues reads which hardware queues an interface uses.
func (p *Phy) HWQueues(netdev string) (HWQueues, error) {
	return readOnce(p, p.netdevDir(netdev), hwQueues, ParseHWQueues)
}
