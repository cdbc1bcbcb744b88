package bpf

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"airtuned/debugfs"
	"airtuned/tree"
)

// TestKernelRadio counts the frames of the real driver, whose firmware and air
// are emulated (lab/target).
func TestKernelRadio(t *testing.T) {
	if !inGuest {
		t.Skip("not in the virtual machine of make bpf-test")
	}
	if underLockdown() {
		t.Skip("under lockdown only Debian's modules can be loaded")
	}
	if err := loadModule("ath10k_emu.ko", ""); err != nil {
		t.Fatal(err)
	}
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	write("/sys/module/ath10k_emu/parameters/radios", "1")
	debug := NewOverlay("/sys", tree.Dir("/sys/kernel/debug"))
	defer debug.Close()

	phy, netdev := findRadio(t)
	t.Logf("%s, %s", phy, netdev)
	// All is 0 before the first frame.
	counts := func() (pending, max int, stops uint64) {
		t.Helper()
		p := debugfs.NewPhy(debug, phy)
		pending, err := p.NumPendingTx()
		if err == nil {
			max, err = p.MaxNumPendingTx()
		}
		counting, stops, why := debug.BPF(phy)
		if err != nil && !errors.Is(err, unix.ENODATA) || why != nil || !counting {
			t.Fatalf("error %v, counting %v, error %v", err, counting, why)
		}
		return pending, max, stops
	}
	if _, err := debugfs.NewPhy(debug, phy).NumPendingTx(); !errors.Is(err, unix.ENODATA) {
		t.Errorf("before the first frame: error %v", err)
	}
	send := startAP(t, netdev)
	send(1)
	eventually(t, "the first frame is done", func() bool { p, max, _ := counts(); return p == 0 && max == 1424 })

	// The host learns only every second that frames were sent, so they are still
	// pending when they are looked at, but for a round that falls on a second.
	// The network stack has some of its own to send, too.
	write("/sys/kernel/debug/ath10k_emu/radio0/svc_us", "1000000")
	most := 0
	for range 5 {
		send(10)
		pending, max, stops := counts()
		if pending > 20 || max != 1424 || stops != 0 {
			t.Errorf("after ten frames: %d of %d pending, %d stops", pending, max, stops)
		}
		if pending > most {
			most = pending
		}
		eventually(t, "all are done", func() bool { p, _, _ := counts(); return p == 0 })
	}
	if most < 10 {
		t.Errorf("of ten frames at most %d were pending", most)
	}

	daemonCounts(t, send)

	// Unplugged and plugged in again it is another radio.
	write("/sys/class/ieee80211/"+phy+"/device/remove", "1")
	names, err := debugfs.Phys(debug)
	if err != nil || slices.Contains(names, phy) {
		t.Errorf("after the radio was unplugged: %q, error %v", names, err)
	}
	if debug.probe != nil {
		t.Error("still attached")
	}
	write("/sys/bus/pci/rescan", "1")
	phy, netdev = findRadio(t)
	if _, err := debugfs.NewPhy(debug, phy).NumPendingTx(); !errors.Is(err, unix.ENODATA) {
		t.Errorf("before its first frame: error %v", err)
	}
	startAP(t, netdev)(10)
	eventually(t, "the new radio counts", func() bool { p, max, _ := counts(); return p == 0 && max == 1424 })
}

// daemonCounts runs the daemon, with its sandbox, until its status has counts.
func daemonCounts(t *testing.T, send func(int)) {
	t.Helper()
	if err := os.MkdirAll("/run", 0o755); err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command("/airtuned", "run", "--verbose")
	var log bytes.Buffer
	daemon.Stderr = &log
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		daemon.Process.Signal(unix.SIGTERM)
		daemon.Wait()
		if t.Failed() {
			t.Logf("%s", &log)
		}
	}()
	var status []byte
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", status)
		}
	})
	eventually(t, "the daemon's status has counts", func() bool {
		send(1)
		status, _ = exec.Command("/airtuned", "status", "--json").CombinedOutput()
		var s struct {
			Radios []struct {
				Driver string
				Queue  struct {
					Source string
					Max    int
					BPF    struct{ Counting bool }
				}
			}
		}
		if json.Unmarshal(status, &s) != nil {
			return false
		}
		for _, r := range s.Radios {
			if q := r.Queue; r.Driver == "ath10k_pci" && q.Source == "num_pending_tx" && q.Max == 1424 && q.BPF.Counting {
				return true
			}
		}
		return false
	})
}

// eventually waits, in virtual machines as slow as they come.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 600 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("not within 30 s: %s", what)
}

// findRadio waits for a radio of ath10k.
func findRadio(t *testing.T) (phy, netdev string) {
	t.Helper()
	eventually(t, "a radio of ath10k", func() bool {
		nets, _ := filepath.Glob("/sys/class/ieee80211/*/device/net/*")
		for _, n := range nets {
			phy, netdev = strings.Split(n, "/")[4], filepath.Base(n)
			if driver, _ := os.Readlink("/sys/class/ieee80211/" + phy + "/device/driver"); strings.HasSuffix(driver, "ath10k_pci") {
				return true
			}
		}
		return false
	})
	return phy, netdev
}

// startAP makes an access point of an interface and tells it of a station,
// which is not there. What it returns sends that station frames.
func startAP(t *testing.T, netdev string) (send func(n int)) {
	t.Helper()
	c, err := genetlink.Dial(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	family, err := c.GetFamily("nl80211")
	if err != nil {
		t.Fatal(err)
	}
	i, err := net.InterfaceByName(netdev)
	if err != nil {
		t.Fatal(err)
	}
	command := func(what string, cmd uint8, attributes func(*netlink.AttributeEncoder)) {
		t.Helper()
		e := netlink.NewAttributeEncoder()
		e.Uint32(unix.NL80211_ATTR_IFINDEX, uint32(i.Index))
		attributes(e)
		data, err := e.Encode()
		if err == nil {
			_, err = c.Execute(genetlink.Message{Header: genetlink.Header{Command: cmd}, Data: data}, family.ID,
				netlink.Request|netlink.Acknowledge)
		}
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	command("make an access point", unix.NL80211_CMD_SET_INTERFACE, func(e *netlink.AttributeEncoder) {
		e.Uint32(unix.NL80211_ATTR_IFTYPE, unix.NL80211_IFTYPE_AP)
	})
	s, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(s) })
	ifr, err := unix.NewIfreq(netdev)
	if err != nil {
		t.Fatal(err)
	}
	ifr.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr); err != nil {
		t.Fatalf("bring %s up: %v", netdev, err)
	}
	const rates = "\x8c\x12\x98\x24\xb0\x48\x60\x6c" // 6 to 54 Mb/s
	head := slices.Concat([]byte{0x80, 0, 0, 0}, []byte("\xff\xff\xff\xff\xff\xff"), i.HardwareAddr, i.HardwareAddr, []byte{0, 0},
		make([]byte, 8), []byte{100, 0, 1, 0}, []byte("\x00\x04test"), []byte("\x01\x08"+rates))
	command("start it", unix.NL80211_CMD_START_AP, func(e *netlink.AttributeEncoder) {
		e.Uint32(unix.NL80211_ATTR_WIPHY_FREQ, 5180)
		e.Uint32(unix.NL80211_ATTR_CHANNEL_WIDTH, unix.NL80211_CHAN_WIDTH_20_NOHT)
		e.Uint32(unix.NL80211_ATTR_BEACON_INTERVAL, 100)
		e.Uint32(unix.NL80211_ATTR_DTIM_PERIOD, 2)
		e.Bytes(unix.NL80211_ATTR_SSID, []byte("test"))
		e.Bytes(unix.NL80211_ATTR_BEACON_HEAD, head)
	})
	station := net.HardwareAddr{2, 0, 0, 0, 0, 1}
	flags := make([]byte, 8)
	binary.NativeEndian.PutUint32(flags, 1<<unix.NL80211_STA_FLAG_AUTHORIZED|1<<unix.NL80211_STA_FLAG_AUTHENTICATED|1<<unix.NL80211_STA_FLAG_ASSOCIATED)
	copy(flags[4:], flags[:4])
	command("add a station", unix.NL80211_CMD_NEW_STATION, func(e *netlink.AttributeEncoder) {
		e.Bytes(unix.NL80211_ATTR_MAC, station)
		e.Uint16(unix.NL80211_ATTR_STA_LISTEN_INTERVAL, 10)
		e.Uint16(unix.NL80211_ATTR_STA_AID, 1)
		e.Bytes(unix.NL80211_ATTR_STA_SUPPORTED_RATES, []byte(rates))
		e.Bytes(unix.NL80211_ATTR_STA_FLAGS2, flags)
	})
	frame := slices.Concat(station, i.HardwareAddr, []byte{0x88, 0xb5}, make([]byte, 200))
	return func(n int) {
		t.Helper()
		to := unix.SockaddrLinklayer{Ifindex: i.Index, Halen: 6}
		copy(to.Addr[:], station)
		for k := range n {
			if err := unix.Sendto(s, frame, 0, &to); err != nil && err != unix.ENOBUFS {
				t.Fatal(fmt.Errorf("frame %d: %w", k, err))
			}
		}
	}
}
