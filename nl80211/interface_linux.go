package nl80211

import (
	"fmt"
	"strconv"

	"airtuned/wlan"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Interfaces lists the network interfaces of all radios. What a radio has that
// is no network interface (P2P-device, NAN) is left out.
func (c *Client) Interfaces() ([]Interface, error) {
	ifis, err := dump(c, unix.NL80211_CMD_GET_INTERFACE, nil, parseInterfaces)
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	return ifis, nil
}

func parseInterfaces(msgs []genetlink.Message) ([]Interface, error) {
	ifis := make([]Interface, 0, len(msgs))
	gens := make(map[int]generation) // a count per wiphy (devlist_generation)
	for _, m := range msgs {
		ifi, ifiGen, err := parseInterface(m.Data)
		if err != nil {
			return nil, err
		}
		gen := gens[ifi.Wiphy]
		if gen.changed(ifiGen) {
			return nil, ErrInterrupted
		}
		gens[ifi.Wiphy] = gen
		if ifi.Index != 0 {
			ifis = append(ifis, ifi)
		}
	}
	return ifis, nil
}

// parseInterface reads one message of a dump of interfaces. Index is 0 for
// what is no network interface.
func parseInterface(b []byte) (ifi Interface, gen generation, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return Interface{}, gen, fmt.Errorf("parse interface: %w", err)
	}
	known := false
	for ad.Next() {
		switch ad.Type() {
		case unix.NL80211_ATTR_IFINDEX:
			ifi.Index = int(ad.Uint32())
		case unix.NL80211_ATTR_IFNAME:
			ifi.Name = ad.String()
		case unix.NL80211_ATTR_WIPHY:
			ifi.Wiphy, known = int(ad.Uint32()), true
		case unix.NL80211_ATTR_WDEV:
			ifi.WDEV = ad.Uint64()
		case unix.NL80211_ATTR_IFTYPE:
			ifi.Type = typeName(ad.Uint32())
		case unix.NL80211_ATTR_MAC:
			ifi.MAC = decodeMAC(ad)
		case unix.NL80211_ATTR_WIPHY_FREQ:
			ifi.FrequencyMHz = int(ad.Uint32())
		case unix.NL80211_ATTR_SSID:
			ifi.SSID = ad.String()
		case unix.NL80211_ATTR_4ADDR:
			ifi.FourAddr = ad.Uint8() != 0
		case unix.NL80211_ATTR_GENERATION:
			gen = generation{true, ad.Uint32()}
		case unix.NL80211_ATTR_TXQ_STATS:
			ifi.TXQ = new(TXQStats)
			ad.Nested(ifi.TXQ.parse)
		}
	}
	if err := ad.Err(); err != nil {
		return Interface{}, gen, fmt.Errorf("parse interface: %w", err)
	}
	if !known {
		return Interface{}, gen, fmt.Errorf("parse interface: %w", errNoWiphy)
	}
	return ifi, gen, nil
}

// typeName is what iw calls an interface type (iw, util.c, ifmodes).
func typeName(t uint32) string {
	switch t {
	case unix.NL80211_IFTYPE_UNSPECIFIED:
		return "unspecified"
	case unix.NL80211_IFTYPE_ADHOC:
		return "IBSS"
	case unix.NL80211_IFTYPE_STATION:
		return "managed"
	case unix.NL80211_IFTYPE_AP:
		return "AP"
	case unix.NL80211_IFTYPE_AP_VLAN:
		return "AP/VLAN"
	case unix.NL80211_IFTYPE_WDS:
		return "WDS"
	case unix.NL80211_IFTYPE_MONITOR:
		return "monitor"
	case unix.NL80211_IFTYPE_MESH_POINT:
		return "mesh point"
	case unix.NL80211_IFTYPE_P2P_CLIENT:
		return "P2P-client"
	case unix.NL80211_IFTYPE_P2P_GO:
		return "P2P-GO"
	case unix.NL80211_IFTYPE_P2P_DEVICE:
		return "P2P-device"
	case unix.NL80211_IFTYPE_OCB:
		return "outside context of a BSS"
	case unix.NL80211_IFTYPE_NAN:
		return "NAN"
	}
	return "unknown mode (" + strconv.Itoa(int(t)) + ")"
}

// decodeMAC reads an attribute that is an Ethernet address.
func decodeMAC(ad *netlink.AttributeDecoder) (mac wlan.MAC) {
	ad.Do(func(b []byte) error {
		if len(b) != len(mac) {
			return fmt.Errorf("%w: %d bytes", wlan.ErrMAC, len(b))
		}
		copy(mac[:], b)
		return nil
	})
	return mac
}
