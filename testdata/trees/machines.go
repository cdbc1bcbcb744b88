package trees

import "fmt"

// The trees, by what is in them.
var machines = []machine{
	{
		name: "qca988x", release: "6.12.117", cpus: 4,
		radios: []radio{pciRadio(0, "devices/pci0000:00/0000:00:00.0/0000:01:00.0", "ath10k_pci", 0x168c, 0x003c,
			ath10kDebug("0x043202ff", "00000040"), ap("wlan0", 4, 1, 2))},
	},
	{
		// Ubiquiti's id, on a router with one CPU.
		name: "qca988x-ubnt", release: "6.6.110", cpus: 1,
		radios: []radio{pciRadio(0, "devices/pci0000:00/0000:00:00.0", "ath10k_pci", 0x0777, 0x11ac,
			openwrt(ath10kDebug("0x043202ff", "00000040")), ap("wlan0", 6, 1))},
	},
	{
		// 5.10 has no aql_enable, aql_pending or threaded.
		name: "qca9887", release: "5.10.262", cpus: 1,
		radios: []radio{pciRadio(0, "devices/pci0000:00/0000:00:00.0", "ath10k_pci", 0x168c, 0x0050,
			ath10kDebug("0x004000ff", "00000040"), ap("wlan0", 5, 1))},
	},
	{
		name: "qca99x0", release: "6.6.110", cpus: 2,
		radios: []radio{pciRadio(0, "devices/platform/soc/1b500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0", "ath10k_pci", 0x168c, 0x0040,
			openwrt(ath10kDebug("0x003b01ff", "00000000")), ap("wlan0", 7, 1, 2))},
	},
	{
		// A kernel patched to show how full the driver's queue is.
		name: "qca9984-two-radios", release: "6.6.110", cpus: 2,
		radios: []radio{
			pciRadio(0, "devices/platform/soc/1b500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0", "ath10k_pci", 0x168c, 0x0046,
				openwrt(patched(ath10kDebug("0x01000000", "00000000"), 12, 4876)), ap("wlan0", 7, 1, 2, 3)),
			pciRadio(1, "devices/platform/soc/1b700000.pcie/pci0001:00/0001:00:00.0/0001:01:00.0", "ath10k_pci", 0x168c, 0x0046,
				openwrt(patched(ath10kDebug("0x01000000", "00000000"), 0, 0)), ap("wlan1", 8, 1)),
		},
	},
	{
		// 7.2 has a row MC.
		name: "qca9888", release: "7.2.13", cpus: 4,
		radios: []radio{pciRadio(0, "devices/platform/soc/40000000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0", "ath10k_pci", 0x168c, 0x0056,
			multicastRow(ath10kDebug("0x00000000", "00000000"), "MC"), ap("wlan0", 6, 1))},
	},
	{
		name: "qca4019-ahb", release: "6.6.110", cpus: 4,
		radios: []radio{
			platformRadio(0, "devices/platform/soc/a000000.wifi", "ath10k_ahb", "/soc/wifi@a000000", "qcom,ipq4019-wifi",
				openwrt(ath10kDebug("0x003b00ff", "00000000")), ap("wlan0", 9, 1)),
			platformRadio(1, "devices/platform/soc/a800000.wifi", "ath10k_ahb", "/soc/wifi@a800000", "qcom,ipq4019-wifi",
				openwrt(ath10kDebug("0x003b00ff", "00000000")), ap("wlan1", 10, 1)),
		},
	},
	{
		name: "qca6174-pci", release: "6.12.117", cpus: 8,
		radios: []radio{pciRadio(0, "devices/pci0000:00/0000:00:1c.0/0000:02:00.0", "ath10k_pci", 0x168c, 0x003e,
			ath10kDebug("0x00340aff", "00000000"), sta("wlp2s0", 3))},
	},
	{
		name: "qca9377-sdio", release: "6.12.117", cpus: 4,
		radios: []radio{{
			phy: "phy0", device: "devices/platform/soc@0/30800000.bus/30b50000.mmc/mmc_host/mmc1/mmc1:0001/mmc1:0001:1",
			bus: "sdio", driver: "ath10k_sdio",
			uevent:  []string{"SDIO_CLASS=00", "SDIO_ID=0271:0701", "SDIO_REVISION=0.0", "MODALIAS=sdio:c00v0271d0701"},
			attrs:   map[string]string{"vendor": "0x0271", "device": "0x0701", "class": "0x00"},
			netdevs: []netdev{sta("wlan0", 3)}, debug: ath10kDebug("0x00000000", "00000000"),
		}},
	},
	{
		name: "qca9377-usb", release: "6.12.117", cpus: 4,
		radios: []radio{{
			phy: "phy0", device: "devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0",
			bus: "usb", driver: "ath10k_usb",
			uevent: []string{"DEVTYPE=usb_interface", "PRODUCT=13b1/42/0", "TYPE=0/0/0", "INTERFACE=255/255/255",
				"MODALIAS=usb:v13B1p0042d0000dc00dsc00dp00icFFiscFFipFFin00"},
			parentAttrs: map[string]string{"idVendor": "13b1", "idProduct": "0042"},
			netdevs:     []netdev{sta("wlx020000000003", 3)}, debug: ath10kDebug("0x00000000", "00000000"),
		}},
	},
	{
		// WCN3990's driver threads its NAPI itself.
		name: "wcn3990-snoc", release: "6.12.117", cpus: 8,
		radios: []radio{platformRadio(0, "devices/platform/soc@0/18800000.wifi", "ath10k_snoc", "/soc@0/wifi@18800000", "qcom,wcn3990-wifi",
			ath10kDebug("0x00000000", "00000000"), sta("wlan0", 4))},
		napiThreads: []string{"napi/dummy#-513"},
	},
	{
		name: "ath9k", release: "6.6.110", cpus: 1,
		radios: []radio{pciRadio(0, "devices/pci0000:00/0000:00:00.0", "ath9k", 0x168c, 0x0033,
			openwrt(&debug{queues: 4}), ap("wlan0", 6, 1))},
	},
	{
		// One device with a wiphy for each band. The driver threads its NAPI
		// itself and calls it by the first wiphy's name.
		name: "mt76", release: "6.6.110", cpus: 2,
		radios: []radio{
			pciRadio(0, mt7915, "mt7915e", 0x14c3, 0x7915, openwrt(&debug{queues: 4, aql: true}), ap("phy0-ap0", 9, 1)),
			pciRadio(1, mt7915, "mt7915e", 0x14c3, 0x7915, openwrt(&debug{queues: 4, aql: true, pendingUs: 3120}), ap("phy1-ap0", 10, 1)),
		},
		napiThreads: []string{"napi/phy0-8193", "napi/phy0-8194", "napi/phy0-8195"},
	},
	{
		name: "unknown-driver", release: "6.12.117", cpus: 2,
		radios: []radio{pciRadio(0, "devices/pci0000:00/0000:00:1c.0/0000:03:00.0", "acme_wlan", 0x1abc, 0x0001,
			&debug{queues: 4}, ap("wlan0", 3, 1))},
	},
	{
		// OpenWrt's late rename, and a radio that nobody has set up.
		name: "renamed-phy", release: "6.6.110", cpus: 2,
		radios: []radio{
			pciRadio(2, "devices/pci0000:00/0000:00:02.0/0000:04:00.0", "ath10k_pci", 0x168c, 0x003c,
				openwrt(ath10kDebug("0x043202ff", "00000040"))),
			named("wl0", pciRadio(1, "devices/pci0000:00/0000:00:01.0/0000:01:00.0", "ath10k_pci", 0x168c, 0x0046,
				openwrt(ath10kDebug("0x01000000", "00000000")), ap("phy1-ap0", 11, 1))),
		},
	},
	{
		name: "no-radios", release: "6.12.117", cpus: 2,
	},
	{
		// Debian's own kernel: the wiphy's folder is there, and empty.
		name: "no-mac80211-debugfs", release: "6.12.43+deb13-amd64", cpus: 4,
		radios: []radio{pciRadio(0, "devices/pci0000:00/0000:00:1c.0/0000:01:00.0", "ath10k_pci", 0x168c, 0x003c,
			nil, ap("wlan0", 4))},
	},
	{
		name: "several-netdevs", release: "6.6.110", cpus: 4,
		radios: []radio{pciRadio(0, "devices/platform/soc/40000000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0", "ath10k_pci", 0x168c, 0x0056,
			openwrt(ath10kDebug("0x00000000", "00000000")),
			ap("wlan0", 6, 1, 2),
			netdev{name: "wlan0-1", index: 7, queue: 1, stations: []byte{3}},
			netdev{name: "mon0", index: 8, kind: monitor},
			netdev{name: "wlan0.sta1", index: 9, kind: vlan, stations: []byte{4}})},
	},
}

const mt7915 = "devices/platform/1e140000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0"

func ap(name string, index int, stations ...byte) netdev {
	return netdev{name: name, index: index, stations: stations}
}

// sta is a netdev associated with an access point, which is its one station.
func sta(name string, index int) netdev {
	return netdev{name: name, index: index, kind: client, stations: []byte{0xaa}}
}

func named(phy string, r radio) radio {
	r.phy = phy
	return r
}

// pciRadio has the attributes of drivers/pci/pci-sysfs.c and the uevent of
// pci-driver.c.
func pciRadio(index int, device, driver string, vendor, product uint16, d *debug, netdevs ...netdev) radio {
	slot := device[len(device)-len("0000:00:00.0"):]
	irq := fmt.Sprint(44 + index)
	return radio{
		phy: fmt.Sprintf("phy%d", index), index: index, device: device, bus: "pci", driver: driver,
		uevent: []string{
			"PCI_CLASS=28000",
			fmt.Sprintf("PCI_ID=%04X:%04X", vendor, product),
			fmt.Sprintf("PCI_SUBSYS_ID=%04X:CAFE", vendor),
			"PCI_SLOT_NAME=" + slot,
			fmt.Sprintf("MODALIAS=pci:v%08Xd%08Xsv%08Xsd0000CAFEbc02sc80i00", vendor, product, vendor),
		},
		attrs: map[string]string{
			"class":  "0x028000",
			"vendor": fmt.Sprintf("0x%04x", vendor), "device": fmt.Sprintf("0x%04x", product),
			"subsystem_vendor": fmt.Sprintf("0x%04x", vendor), "subsystem_device": "0xcafe",
			"irq": irq, "msi_irqs/" + irq: "msi",
		},
		netdevs: netdevs, debug: d,
	}
}

// platformRadio has the uevent of drivers/of/device.c.
func platformRadio(index int, device, driver, node, compatible string, d *debug, netdevs ...netdev) radio {
	return radio{
		phy: fmt.Sprintf("phy%d", index), index: index, device: device, bus: "platform", driver: driver,
		uevent: []string{
			"OF_NAME=wifi", "OF_FULLNAME=" + node,
			"OF_COMPATIBLE_0=" + compatible, "OF_COMPATIBLE_N=1",
			"MODALIAS=of:NwifiT(null)C" + compatible,
		},
		netdevs: netdevs, debug: d,
	}
}

func ath10kDebug(chipID, pktlogFilter string) *debug {
	return &debug{queues: 16, aql: true, ath10k: map[string]string{
		"chip_id": chipID + "\n", "peer_stats": "1\n", "pktlog_filter": pktlogFilter + "\n",
	}}
}

// openwrt has the row for multicast from a patch of its own.
func openwrt(d *debug) *debug { return multicastRow(d, "BC/MC") }

func multicastRow(d *debug, label string) *debug {
	d.multicast = label
	return d
}

// patched shows the frames in driver and firmware, and how much airtime they
// take.
func patched(d *debug, frames, pendingUs int) *debug {
	d.ath10k["num_pending_tx"] = fmt.Sprintf("%d\n", frames)
	d.ath10k["max_num_pending_tx"] = "1424\n"
	d.pendingUs = pendingUs
	return d
}
