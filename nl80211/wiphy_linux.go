package nl80211

import (
	"errors"
	"fmt"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

var errNoWiphy = errors.New("a message names no wiphy")

// Wiphys lists all radios of the network namespace, in the kernel's order.
func (c *Client) Wiphys() ([]Wiphy, error) {
	wiphys, err := dump(c, unix.NL80211_CMD_GET_WIPHY, func(ae *netlink.AttributeEncoder) {
		// Without it the kernel leaves out what was added since 3.10.
		ae.Flag(unix.NL80211_ATTR_SPLIT_WIPHY_DUMP, true)
	}, parseWiphys)
	if err != nil {
		return nil, fmt.Errorf("list wiphys: %w", err)
	}
	return wiphys, nil
}

// parseWiphys merges the messages of a split dump, of which each has one part
// of what there is to say about a wiphy.
func parseWiphys(msgs []genetlink.Message) ([]Wiphy, error) {
	var wiphys []Wiphy
	at := make(map[int]int) // wiphy index -> position in wiphys
	var gen generation
	for _, m := range msgs {
		part, partGen, err := parseWiphy(m.Data)
		if err != nil {
			return nil, err
		}
		// Counts the wiphys that came and went (cfg80211_rdev_list_generation).
		if gen.changed(partGen) {
			return nil, ErrInterrupted
		}
		i, ok := at[part.Index]
		if !ok {
			i = len(wiphys)
			at[part.Index] = i
			wiphys = append(wiphys, Wiphy{Index: part.Index})
		}
		wiphys[i].merge(part)
	}
	return wiphys, nil
}

// merge takes over what part has.
func (w *Wiphy) merge(part Wiphy) {
	if part.Name != "" {
		w.Name = part.Name
	}
	w.AQL = w.AQL || part.AQL
	w.AirtimeFairness = w.AirtimeFairness || part.AirtimeFairness
	w.TXQS = w.TXQS || part.TXQS
	if part.TXQ != nil {
		w.TXQ = part.TXQ
	}
	w.TXQLimitPackets = max(w.TXQLimitPackets, part.TXQLimitPackets)
	w.TXQMemoryLimitBytes = max(w.TXQMemoryLimitBytes, part.TXQMemoryLimitBytes)
	w.TXQQuantumBytes = max(w.TXQQuantumBytes, part.TXQQuantumBytes)
}

// parseWiphy reads one message of a dump of wiphys.
func parseWiphy(b []byte) (w Wiphy, gen generation, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return Wiphy{}, gen, fmt.Errorf("parse wiphy: %w", err)
	}
	known := false
	for ad.Next() {
		switch ad.Type() {
		case unix.NL80211_ATTR_WIPHY:
			w.Index, known = int(ad.Uint32()), true
		case unix.NL80211_ATTR_WIPHY_NAME:
			w.Name = ad.String()
		case unix.NL80211_ATTR_GENERATION:
			gen = generation{true, ad.Uint32()}
		case unix.NL80211_ATTR_EXT_FEATURES:
			ad.Do(func(b []byte) error {
				w.AQL = hasBit(b, unix.NL80211_EXT_FEATURE_AQL)
				w.AirtimeFairness = hasBit(b, unix.NL80211_EXT_FEATURE_AIRTIME_FAIRNESS)
				w.TXQS = hasBit(b, unix.NL80211_EXT_FEATURE_TXQS)
				return nil
			})
		case unix.NL80211_ATTR_TXQ_STATS:
			w.TXQ = new(TXQStats)
			ad.Nested(w.TXQ.parse)
		case unix.NL80211_ATTR_TXQ_LIMIT:
			w.TXQLimitPackets = ad.Uint32()
		case unix.NL80211_ATTR_TXQ_MEMORY_LIMIT:
			w.TXQMemoryLimitBytes = ad.Uint32()
		case unix.NL80211_ATTR_TXQ_QUANTUM:
			w.TXQQuantumBytes = ad.Uint32()
		}
	}
	if err := ad.Err(); err != nil {
		return Wiphy{}, gen, fmt.Errorf("parse wiphy: %w", err)
	}
	if !known {
		return Wiphy{}, gen, fmt.Errorf("parse wiphy: %w", errNoWiphy)
	}
	return w, gen, nil
}

// hasBit tells whether bit n is set in an array of bytes, lowest bit first,
// which ends after the last byte that the kernel knows of.
func hasBit(b []byte, n int) bool {
	return n/8 < len(b) && b[n/8]>>(n%8)&1 != 0
}

// generation is what the kernel counts up when a list changes
// (NL80211_ATTR_GENERATION). For these lists it does not set the flag
// NLM_F_DUMP_INTR: messages of one dump that differ in it tell the same.
type generation struct {
	known bool
	n     uint32
}

// changed tells whether next differs from what was seen before.
func (g *generation) changed(next generation) bool {
	if !next.known {
		return false
	}
	prev := *g
	*g = next
	return prev.known && prev.n != next.n
}
