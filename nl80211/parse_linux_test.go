package nl80211

import (
	"errors"
	"testing"

	"airtuned/wlan"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/wifi"
	"golang.org/x/sys/unix"
)

// splitWiphys is how the kernel tells of two radios: one part per message, the
// index and the name in each.
func splitWiphys() []genetlink.Message {
	part := func(index uint32, name string, fn func(ae *netlink.AttributeEncoder)) genetlink.Message {
		return message(unix.NL80211_CMD_NEW_WIPHY, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_ATTR_WIPHY, index)
			ae.String(unix.NL80211_ATTR_WIPHY_NAME, name)
			ae.Uint32(unix.NL80211_ATTR_GENERATION, 3)
			if fn != nil {
				fn(ae)
			}
		})
	}
	return []genetlink.Message{
		part(2, "phy2", func(ae *netlink.AttributeEncoder) {
			ae.Uint8(unix.NL80211_ATTR_MAX_NUM_SCAN_SSIDS, 4)
		}),
		part(2, "phy2", func(ae *netlink.AttributeEncoder) {
			ae.Nested(unix.NL80211_ATTR_WIPHY_BANDS, func(ae *netlink.AttributeEncoder) error {
				ae.Bytes(0, []byte{1, 2, 3, 4})
				return nil
			})
		}),
		part(2, "phy2", func(ae *netlink.AttributeEncoder) {
			// AQL 40, AIRTIME_FAIRNESS 33, TXQS 28
			ae.Bytes(unix.NL80211_ATTR_EXT_FEATURES, []byte{0, 0, 0, 1 << 4, 1 << 1, 1, 0})
		}),
		part(2, "phy2", func(ae *netlink.AttributeEncoder) {
			nest(ae, unix.NL80211_ATTR_TXQ_STATS, func(ae *netlink.AttributeEncoder) {
				ae.Uint32(unix.NL80211_TXQ_STATS_BACKLOG_BYTES, 2253312)
				ae.Uint32(unix.NL80211_TXQ_STATS_BACKLOG_PACKETS, 978)
				ae.Uint32(unix.NL80211_TXQ_STATS_OVERLIMIT, 345)
				ae.Uint32(unix.NL80211_TXQ_STATS_OVERMEMORY, 0)
				ae.Uint32(unix.NL80211_TXQ_STATS_COLLISIONS, 300)
				ae.Uint32(unix.NL80211_TXQ_STATS_MAX_FLOWS, 4096)
			})
			ae.Uint32(unix.NL80211_ATTR_TXQ_LIMIT, 1000)
			ae.Uint32(unix.NL80211_ATTR_TXQ_MEMORY_LIMIT, 16777216)
			ae.Uint32(unix.NL80211_ATTR_TXQ_QUANTUM, 300)
		}),
		part(2, "phy2", nil),
		part(0, "radio0", nil),
		part(0, "radio0", func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.NL80211_ATTR_EXT_FEATURES, []byte{0, 0, 0, 1 << 4})
		}),
	}
}

func TestParseWiphys(t *testing.T) {
	want := []Wiphy{
		{
			Index: 2, Name: "phy2", AQL: true, AirtimeFairness: true, TXQS: true,
			TXQ: &TXQStats{
				Has: HasTXQBacklogBytes | HasTXQBacklogPackets | HasTXQOverlimit | HasTXQOvermemory |
					HasTXQCollisions | HasTXQMaxFlows,
				BacklogBytes: 2253312, BacklogPackets: 978, Overlimit: 345, Collisions: 300, MaxFlows: 4096,
			},
			TXQLimitPackets: 1000, TXQMemoryLimitBytes: 16777216, TXQQuantumBytes: 300,
		},
		{Index: 0, Name: "radio0", TXQS: true},
	}
	got, err := parseWiphys(splitWiphys())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("wiphys (-want +got):\n%s", diff)
	}
}

func TestParseWiphyFeatures(t *testing.T) {
	tests := []struct {
		name string
		bits []byte
		want Wiphy
	}{
		{"none", []byte{0, 0, 0, 0, 0, 0}, Wiphy{}},
		{"empty", []byte{}, Wiphy{}},
		{"all", []byte{255, 255, 255, 255, 255, 255, 255, 255}, Wiphy{AQL: true, AirtimeFairness: true, TXQS: true}},
		{"all but ours", []byte{255, 255, 255, 0xef, 0xfd, 0xfe, 255, 255}, Wiphy{}},
		{"TXQS 28", []byte{0, 0, 0, 0x10, 0, 0}, Wiphy{TXQS: true}},
		{"AIRTIME_FAIRNESS 33", []byte{0, 0, 0, 0, 0x02, 0}, Wiphy{AirtimeFairness: true}},
		{"AQL 40", []byte{0, 0, 0, 0, 0, 0x01}, Wiphy{AQL: true}},
		{"kernel before AQL", []byte{0, 0, 0, 0x10, 0x02}, Wiphy{TXQS: true, AirtimeFairness: true}},
	}
	for _, tt := range tests {
		got, _, err := parseWiphy(attrs(func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_ATTR_WIPHY, 0)
			ae.Bytes(unix.NL80211_ATTR_EXT_FEATURES, tt.bits)
		}))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// accessPoint is wlan0 of an access point with a multicast TXQ, as iw shows it.
func accessPoint(ae *netlink.AttributeEncoder) {
	ae.Uint32(unix.NL80211_ATTR_IFINDEX, 9)
	ae.String(unix.NL80211_ATTR_IFNAME, "wlan0")
	ae.Uint32(unix.NL80211_ATTR_WIPHY, 2)
	ae.Uint32(unix.NL80211_ATTR_IFTYPE, unix.NL80211_IFTYPE_AP)
	ae.Uint64(unix.NL80211_ATTR_WDEV, 0x200000001)
	ae.Bytes(unix.NL80211_ATTR_MAC, apMAC[:])
	ae.Uint32(unix.NL80211_ATTR_GENERATION, 9)
	ae.Uint8(unix.NL80211_ATTR_4ADDR, 0)
	ae.Uint32(unix.NL80211_ATTR_WIPHY_FREQ, 2437)
	ae.Bytes(unix.NL80211_ATTR_SSID, []byte("probe")) // no NUL behind it
	nest(ae, unix.NL80211_ATTR_TXQ_STATS, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NL80211_TXQ_STATS_BACKLOG_BYTES, 0)
		ae.Uint32(unix.NL80211_TXQ_STATS_BACKLOG_PACKETS, 0)
		ae.Uint32(unix.NL80211_TXQ_STATS_FLOWS, 309)
		ae.Uint32(unix.NL80211_TXQ_STATS_TX_BYTES, 426288)
		ae.Uint32(unix.NL80211_TXQ_STATS_TX_PACKETS, 309)
	})
}

func TestParseInterfaces(t *testing.T) {
	got, err := parseInterfaces([]genetlink.Message{
		message(unix.NL80211_CMD_NEW_INTERFACE, accessPoint),
		message(unix.NL80211_CMD_NEW_INTERFACE, func(ae *netlink.AttributeEncoder) { // P2P-device: no netdev
			ae.Uint32(unix.NL80211_ATTR_WIPHY, 3)
			ae.Uint32(unix.NL80211_ATTR_IFTYPE, unix.NL80211_IFTYPE_P2P_DEVICE)
			ae.Uint64(unix.NL80211_ATTR_WDEV, 0x300000002)
			ae.Uint32(unix.NL80211_ATTR_GENERATION, 10) // counted per wiphy
		}),
		message(unix.NL80211_CMD_NEW_INTERFACE, func(ae *netlink.AttributeEncoder) { // down, TXQs unknown
			ae.Uint32(unix.NL80211_ATTR_IFINDEX, 10)
			ae.String(unix.NL80211_ATTR_IFNAME, "phy3-sta0")
			ae.Uint32(unix.NL80211_ATTR_WIPHY, 3)
			ae.Uint32(unix.NL80211_ATTR_IFTYPE, unix.NL80211_IFTYPE_STATION)
			ae.Uint64(unix.NL80211_ATTR_WDEV, 0x300000001)
			ae.Bytes(unix.NL80211_ATTR_MAC, staMAC[:])
			ae.Uint32(unix.NL80211_ATTR_GENERATION, 10)
			ae.Uint8(unix.NL80211_ATTR_4ADDR, 1)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Interface{
		{
			Index: 9, Name: "wlan0", Wiphy: 2, WDEV: 0x200000001, Type: "AP", MAC: apMAC, FrequencyMHz: 2437, SSID: "probe",
			TXQ: &TXQStats{
				Has:   HasTXQBacklogBytes | HasTXQBacklogPackets | HasTXQFlows | HasTXQTxBytes | HasTXQTxPackets,
				Flows: 309, TxBytes: 426288, TxPackets: 309,
			},
		},
		{Index: 10, Name: "phy3-sta0", Wiphy: 3, WDEV: 0x300000001, Type: "managed", MAC: staMAC, FourAddr: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}

func TestParseInterfacesInterrupted(t *testing.T) {
	ifi := func(index, gen uint32) genetlink.Message {
		return message(unix.NL80211_CMD_NEW_INTERFACE, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_ATTR_IFINDEX, index)
			ae.Uint32(unix.NL80211_ATTR_WIPHY, 2)
			ae.Uint32(unix.NL80211_ATTR_GENERATION, gen)
		})
	}
	if _, err := parseInterfaces([]genetlink.Message{ifi(1, 1), ifi(2, 1), ifi(3, 2)}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("got error %v, want %v", err, ErrInterrupted)
	}
}

func TestTypeName(t *testing.T) {
	want := []string{
		"unspecified", "IBSS", "managed", "AP", "AP/VLAN", "WDS", "monitor", "mesh point", "P2P-client", "P2P-GO",
		"P2P-device", "outside context of a BSS", "NAN", "unknown mode (13)",
	}
	for i, want := range want {
		if got := typeName(uint32(i)); got != want {
			t.Errorf("typeName(%d) = %q, want %q", i, got, want)
		}
	}
}

// station is a message about a station with the given information.
func station(info func(ae *netlink.AttributeEncoder)) []byte {
	return attrs(func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NL80211_ATTR_IFINDEX, 9)
		ae.Bytes(unix.NL80211_ATTR_MAC, staMAC[:])
		ae.Uint32(unix.NL80211_ATTR_GENERATION, 5)
		nest(ae, unix.NL80211_ATTR_STA_INFO, info)
	})
}

// fullInfo is all that is read of a station, and some that is not.
func fullInfo(ae *netlink.AttributeEncoder) {
	signal := int8(-30)
	ae.Uint32(unix.NL80211_STA_INFO_CONNECTED_TIME, 10)
	ae.Uint32(unix.NL80211_STA_INFO_INACTIVE_TIME, 3484)
	ae.Uint32(unix.NL80211_STA_INFO_RX_BYTES, 916)
	ae.Uint32(unix.NL80211_STA_INFO_TX_BYTES, 116675)
	ae.Uint64(unix.NL80211_STA_INFO_RX_BYTES64, 1<<33+916)
	ae.Uint64(unix.NL80211_STA_INFO_TX_BYTES64, 1<<34+116675)
	ae.Int8(unix.NL80211_STA_INFO_SIGNAL, signal)
	ae.Int8(unix.NL80211_STA_INFO_SIGNAL_AVG, signal-1)
	nest(ae, unix.NL80211_STA_INFO_TX_BITRATE, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.NL80211_RATE_INFO_BITRATE32, 8667)
		ae.Uint16(unix.NL80211_RATE_INFO_BITRATE, 8667)
		ae.Flag(unix.NL80211_RATE_INFO_80_MHZ_WIDTH, true)
		ae.Uint8(unix.NL80211_RATE_INFO_VHT_MCS, 9)
		ae.Uint8(unix.NL80211_RATE_INFO_VHT_NSS, 2)
	})
	nest(ae, unix.NL80211_STA_INFO_RX_BITRATE, func(ae *netlink.AttributeEncoder) {
		ae.Uint16(unix.NL80211_RATE_INFO_BITRATE, 130)
		ae.Uint8(unix.NL80211_RATE_INFO_MCS, 8)
	})
	ae.Uint32(unix.NL80211_STA_INFO_RX_PACKETS, 13)
	ae.Uint32(unix.NL80211_STA_INFO_TX_PACKETS, 86)
	ae.Uint32(unix.NL80211_STA_INFO_TX_RETRIES, 7)
	ae.Uint32(unix.NL80211_STA_INFO_TX_FAILED, 2)
	ae.Uint32(unix.NL80211_STA_INFO_EXPECTED_THROUGHPUT, 6316)
	ae.Uint64(unix.NL80211_STA_INFO_TX_DURATION, 1<<32+5)
	ae.Uint64(unix.NL80211_STA_INFO_RX_DURATION, 0)
	ae.Uint16(unix.NL80211_STA_INFO_AIRTIME_WEIGHT, 512)
	nest(ae, unix.NL80211_STA_INFO_BSS_PARAM, func(ae *netlink.AttributeEncoder) {})
	ae.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, flags(0xfe, 1<<unix.NL80211_STA_FLAG_AUTHORIZED))
	nest(ae, unix.NL80211_STA_INFO_TID_STATS, func(ae *netlink.AttributeEncoder) {
		for _, tid := range []uint16{0, 6} {
			nest(ae, tid+1, func(ae *netlink.AttributeEncoder) {
				ae.Uint64(unix.NL80211_TID_STATS_RX_MSDU, 7)
				ae.Uint64(unix.NL80211_TID_STATS_TX_MSDU, 82)
				txqNest(ae, unix.NL80211_TID_STATS_TXQ_STATS, 1000*uint32(tid)+100)
			})
		}
		nest(ae, 17, func(ae *netlink.AttributeEncoder) { // management: no TXQ
			ae.Uint64(unix.NL80211_TID_STATS_TX_MSDU, 4)
		})
	})
}

// flags is struct nl80211_sta_flag_update.
func flags(mask, set uint32) []byte {
	b := attrs(func(ae *netlink.AttributeEncoder) { ae.Uint32(0, mask); ae.Uint32(0, set) })
	return append(b[4:8:8], b[12:16]...)
}

func TestParseStation(t *testing.T) {
	sum := txq(100)
	other := txq(6100)
	sum.add(&other)
	base := Station{MAC: staMAC, IfIndex: 9}
	with := func(fn func(*Station)) Station { s := base; fn(&s); return s }

	tests := []struct {
		name string
		info func(ae *netlink.AttributeEncoder)
		want Station
	}{
		{"nothing", func(*netlink.AttributeEncoder) {}, base},
		{"everything", func(ae *netlink.AttributeEncoder) {
			fullInfo(ae)
		}, Station{
			MAC: staMAC, IfIndex: 9, Has: HasAirtimeWeight<<1 - 1,
			InactiveMs: 3484, ConnectedS: 10, Authorized: true, SignalDBm: -30, SignalAvgDBm: -31,
			TxRateKbps: 866700, RxRateKbps: 13000, ExpectedKbps: 6316,
			TxBytes: 1<<34 + 116675, RxBytes: 1<<33 + 916, TxPackets: 86, RxPackets: 13, TxRetries: 7, TxFailed: 2,
			TxDurationUs: 1<<32 + 5, AirtimeWeight: 512,
			TXQ:  &sum,
			TIDs: []TIDStats{{TID: 0, TXQStats: txq(100)}, {TID: 6, TXQStats: txq(6100)}},
		}},
		{"zero is not absent", func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_STA_INFO_TX_RETRIES, 0)
			ae.Int8(unix.NL80211_STA_INFO_SIGNAL, 0)
			ae.Uint64(unix.NL80211_STA_INFO_RX_DURATION, 0)
		}, with(func(s *Station) { s.Has = HasTxRetries | HasSignal | HasRxDuration })},
		{"64-bit bytes first", func(ae *netlink.AttributeEncoder) {
			ae.Uint64(unix.NL80211_STA_INFO_TX_BYTES64, 1<<32)
			ae.Uint32(unix.NL80211_STA_INFO_TX_BYTES, 0)
			ae.Uint64(unix.NL80211_STA_INFO_RX_BYTES64, 0)
			ae.Uint32(unix.NL80211_STA_INFO_RX_BYTES, 1)
		}, with(func(s *Station) { s.Has = HasTxBytes | HasRxBytes; s.TxBytes = 1 << 32 })},
		{"32-bit bytes alone", func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_STA_INFO_TX_BYTES, 1<<32-1)
			ae.Uint32(unix.NL80211_STA_INFO_RX_BYTES, 2)
		}, with(func(s *Station) { s.Has = HasTxBytes | HasRxBytes; s.TxBytes = 1<<32 - 1; s.RxBytes = 2 })},
		{"rate over 6.5 Gbit/s", func(ae *netlink.AttributeEncoder) {
			nest(ae, unix.NL80211_STA_INFO_TX_BITRATE, func(ae *netlink.AttributeEncoder) {
				ae.Uint32(unix.NL80211_RATE_INFO_BITRATE32, 96078)
			})
		}, with(func(s *Station) { s.TxRateKbps = 9607800 })},
		{"32-bit rate preferred, in either order", func(ae *netlink.AttributeEncoder) {
			for _, attr := range []uint16{unix.NL80211_STA_INFO_TX_BITRATE, unix.NL80211_STA_INFO_RX_BITRATE} {
				nest(ae, attr, func(ae *netlink.AttributeEncoder) {
					if attr == unix.NL80211_STA_INFO_TX_BITRATE {
						ae.Uint32(unix.NL80211_RATE_INFO_BITRATE32, 70000)
					}
					ae.Uint16(unix.NL80211_RATE_INFO_BITRATE, 4464)
					if attr == unix.NL80211_STA_INFO_RX_BITRATE {
						ae.Uint32(unix.NL80211_RATE_INFO_BITRATE32, 70000)
					}
				})
			}
		}, with(func(s *Station) { s.TxRateKbps, s.RxRateKbps = 7000000, 7000000 })},
		{"rate unknown", func(ae *netlink.AttributeEncoder) { // a nest without a bit rate
			nest(ae, unix.NL80211_STA_INFO_TX_BITRATE, func(ae *netlink.AttributeEncoder) {
				ae.Uint8(unix.NL80211_RATE_INFO_MCS, 0)
			})
		}, base},
		{"not authorized", func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, flags(0xfe, 1<<unix.NL80211_STA_FLAG_ASSOCIATED))
		}, with(func(s *Station) { s.Has = HasAuthorized })},
		{"authorization unknown", func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, flags(0, 1<<unix.NL80211_STA_FLAG_AUTHORIZED))
		}, base},
		{"TIDs without TXQs", func(ae *netlink.AttributeEncoder) {
			nest(ae, unix.NL80211_STA_INFO_TID_STATS, func(ae *netlink.AttributeEncoder) {
				nest(ae, 1, func(ae *netlink.AttributeEncoder) { ae.Uint64(unix.NL80211_TID_STATS_TX_MSDU, 4) })
			})
		}, base},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, gen, err := parseStation(station(tt.info))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("station (-want +got):\n%s", diff)
			}
			if want := (generation{true, 5}); gen != want {
				t.Errorf("generation %v, want %v", gen, want)
			}
		})
	}
}

// The counters of a sum wrap as the counters themselves do, so that
// differences stay right.
func TestTXQStatsAddWraps(t *testing.T) {
	a := TXQStats{Has: HasTXQTxBytes, TxBytes: 1<<32 - 1}
	b := TXQStats{Has: HasTXQTxBytes | HasTXQDrops, TxBytes: 11, Drops: 1}
	a.add(&b)
	want := TXQStats{Has: HasTXQTxBytes | HasTXQDrops, TxBytes: 10, Drops: 1}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
}

func TestParseMalformed(t *testing.T) {
	wiphy := func(b []byte) error { _, _, err := parseWiphy(b); return err }
	ifi := func(b []byte) error { _, _, err := parseInterface(b); return err }
	sta := func(b []byte) error { _, _, err := parseStation(b); return err }
	tests := []struct {
		name  string
		parse func([]byte) error
		data  []byte
		want  error // nil: any
	}{
		{"wiphy without index", wiphy, attrs(func(ae *netlink.AttributeEncoder) {
			ae.String(unix.NL80211_ATTR_WIPHY_NAME, "phy0")
		}), errNoWiphy},
		{"wiphy, short index", wiphy, attrs(func(ae *netlink.AttributeEncoder) {
			ae.Uint8(unix.NL80211_ATTR_WIPHY, 0)
		}), nil},
		{"wiphy, cut", wiphy, []byte{8, 0, 1}, nil},
		{"interface without wiphy", ifi, attrs(func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_ATTR_IFINDEX, 1)
		}), errNoWiphy},
		{"interface, short address", ifi, attrs(func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_ATTR_WIPHY, 1)
			ae.Bytes(unix.NL80211_ATTR_MAC, []byte{1, 2, 3})
		}), wlan.ErrMAC},
		{"station without address", sta, attrs(func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_ATTR_IFINDEX, 1)
		}), errNoStation},
		{"station, empty signal", sta, station(func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.NL80211_STA_INFO_SIGNAL, nil)
		}), nil},
		{"station, short flags", sta, station(func(ae *netlink.AttributeEncoder) {
			ae.Uint32(unix.NL80211_STA_INFO_STA_FLAGS, 0)
		}), nil},
		{"station, cut rate", sta, station(func(ae *netlink.AttributeEncoder) {
			ae.Bytes(unix.NL80211_STA_INFO_TX_BITRATE, []byte{1, 2, 3})
		}), nil},
	}
	for _, tt := range tests {
		if err := tt.parse(tt.data); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got error %v, want %v", tt.name, err, tt.want)
		}
	}
}

// mdlayher/wifi has to read the same in what it reads.
func TestSecondOpinion(t *testing.T) {
	ours, _, err := parseStation(station(func(ae *netlink.AttributeEncoder) {
		fullInfo(ae)
	}))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := wifi.ParseStationInfo(station(fullInfo))
	if err != nil {
		t.Fatal(err)
	}
	type view struct {
		IfIndex                                                 int
		MAC                                                     string
		InactiveMs, ConnectedS                                  int64
		Signal, SignalAvg                                       int
		TxBytes, RxBytes, TxPackets, RxPackets, Retries, Failed int
		TxBitsPerS, RxBitsPerS                                  int
	}
	got := view{
		ours.IfIndex, ours.MAC.String(), int64(ours.InactiveMs), int64(ours.ConnectedS),
		int(ours.SignalDBm), int(ours.SignalAvgDBm),
		int(ours.TxBytes), int(ours.RxBytes), int(ours.TxPackets), int(ours.RxPackets), int(ours.TxRetries), int(ours.TxFailed),
		int(ours.TxRateKbps * 1000), int(ours.RxRateKbps * 1000),
	}
	want := view{
		theirs.InterfaceIndex, theirs.HardwareAddr.String(), theirs.Inactive.Milliseconds(), int64(theirs.Connected.Seconds()),
		theirs.Signal, theirs.SignalAverage,
		theirs.TransmittedBytes, theirs.ReceivedBytes, theirs.TransmittedPackets, theirs.ReceivedPackets, theirs.TransmitRetries, theirs.TransmitFailed,
		theirs.TransmitBitrate, theirs.ReceiveBitrate,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("station (-wifi +ours):\n%s", diff)
	}

	ap := message(unix.NL80211_CMD_NEW_INTERFACE, accessPoint)
	ifis, err := wifi.ParseInterfaces([]genetlink.Message{ap})
	if err != nil {
		t.Fatal(err)
	}
	ifi, _, err := parseInterface(ap.Data)
	if err != nil {
		t.Fatal(err)
	}
	wantIfi := Interface{
		Index: ifis[0].Index, Name: ifis[0].Name, Wiphy: ifis[0].PHY, WDEV: ifi.WDEV, Type: typeName(uint32(ifis[0].Type)),
		MAC: wlan.MAC(ifis[0].HardwareAddr), FrequencyMHz: ifis[0].Frequency, SSID: ifi.SSID, TXQ: ifi.TXQ,
	}
	if diff := cmp.Diff(wantIfi, ifi); diff != "" {
		t.Errorf("interface (-wifi +ours):\n%s", diff)
	}
}

func FuzzParseWiphys(f *testing.F) {
	for _, m := range splitWiphys() {
		f.Add(m.Data)
	}
	f.Add([]byte{8, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		wiphys, err := parseWiphys([]genetlink.Message{{Data: b}, {Data: b}})
		if err == nil && len(wiphys) != 1 {
			t.Errorf("the same message twice is %d wiphys", len(wiphys))
		}
	})
}

func FuzzParseInterfaces(f *testing.F) {
	f.Add(attrs(accessPoint))
	f.Add([]byte{8, 0, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		ifis, err := parseInterfaces([]genetlink.Message{{Data: b}})
		for _, ifi := range ifis {
			if err != nil || ifi.Index == 0 {
				t.Errorf("got %+v, %v", ifi, err)
			}
		}
	})
}

func FuzzParseStations(f *testing.F) {
	f.Add(station(fullInfo))
	f.Add(station(func(*netlink.AttributeEncoder) {}))
	f.Add([]byte{8, 0, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		stas, err := parseStations([]genetlink.Message{{Data: b}})
		for _, sta := range stas {
			if err != nil || (sta.TXQ == nil) != (len(sta.TIDs) == 0) {
				t.Errorf("got %+v, %v", sta, err)
			}
			var sum TXQStats
			for _, tid := range sta.TIDs {
				sum.add(&tid.TXQStats)
			}
			if sta.TXQ != nil && *sta.TXQ != sum {
				t.Errorf("sum %+v, want %+v", *sta.TXQ, sum)
			}
			if sta.TxRateKbps%100 != 0 || sta.RxRateKbps%100 != 0 {
				t.Errorf("rates %d and %d", sta.TxRateKbps, sta.RxRateKbps)
			}
		}
	})
}
