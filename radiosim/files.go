package radiosim

import (
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"airtuned/tree"
	"airtuned/wlan"
)

// Where the radio sits, as a QCA9984 on PCI.
const (
	pciParent = "devices/pci0000:00/0000:00:00.0"
	pciSlot   = "0000:01:00.0"
	iface     = "wlan0"
	ifindex   = IfIndex
)

// IfIndex is the index of the radio's interface.
const IfIndex = 4

// files are the three trees of a radio.
type files struct {
	sys, debug, proc fileTree
	phy              string
	phyIndex         int
	failing          map[string]error
	scratch          []byte
	radio            *lifetime
	stationLives     []*lifetime // by station, nil while away
}

// lifetime is shared by the files that vanish together. An open file whose
// lifetime has ended fails.
type lifetime struct{ ended bool }

// node is a file. Its text is made when it is read.
type node struct {
	read  func([]byte) []byte // nil: not readable
	write func(string) error  // nil: no handler
	life  *lifetime
	// errno when written without a handler: EINVAL in debugfs, EACCES in sysfs.
	readOnly unix.Errno
	// gone is what reading an open file gives after its end.
	gone unix.Errno
}

// fileTree implements tree.FS. Directories are those that have something in
// them, and those made empty.
type fileTree struct {
	sim   *Sim
	root  string
	files map[string]*node
	links map[string]string
	dirs  map[string][]string
}

// Sys is the tree at /sys.
func (s *Sim) Sys() tree.FS { return &s.sys }

// Debug is the tree at /sys/kernel/debug.
func (s *Sim) Debug() tree.FS { return &s.debug }

// Proc is the tree at /proc.
func (s *Sim) Proc() tree.FS { return &s.proc }

func phyName(index int) string { return "phy" + strconv.Itoa(index) }

func (s *Sim) initFiles() {
	s.phy = phyName(0)
	s.failing = map[string]error{}
	s.scratch = make([]byte, 0, 1<<15)
	s.stationLives = make([]*lifetime, len(s.stations))
	s.sys = fileTree{sim: s, root: "/sys"}
	s.debug = fileTree{sim: s, root: "/sys/kernel/debug"}
	s.proc = fileTree{sim: s, root: "/proc"}
	s.proc.clear()
	s.procFiles()
	s.openFiles()
}

func (s *Sim) openFiles() { s.radio = &lifetime{} }

func (s *Sim) closeFiles() { s.radio.ended = true }

// renewFiles rebuilds the trees after something came, went or was renamed.
func (s *Sim) renewFiles() {
	for i, st := range s.stations {
		life := s.stationLives[i]
		switch {
		case st.joined && life == nil:
			s.stationLives[i] = &lifetime{}
		case !st.joined && life != nil:
			life.ended = true
			s.stationLives[i] = nil
		}
	}
	s.sys.clear()
	s.debug.clear()
	s.sysFiles()
	s.debugFiles()
}

func (t *fileTree) clear() {
	t.files = map[string]*node{}
	t.links = map[string]string{}
	t.dirs = map[string][]string{}
}

// enter lists name in its directory, and that one in its own.
func (t *fileTree) enter(name string) {
	for name != "." {
		dir := path.Dir(name)
		known := t.dirs[dir]
		i, there := slices.BinarySearch(known, path.Base(name))
		if there {
			return
		}
		t.dirs[dir] = slices.Insert(known, i, path.Base(name))
		name = dir
	}
}

func (t *fileTree) file(name string, n *node) {
	t.files[name] = n
	t.enter(name)
}

func (t *fileTree) dir(name string) {
	if _, ok := t.dirs[name]; !ok {
		t.dirs[name] = nil
	}
	t.enter(name)
}

func (t *fileTree) link(name, target string) {
	t.links[name] = target
	t.enter(name)
}

// resolve follows the symbolic links on the way to name, and at its end.
func (t *fileTree) resolve(name string) (string, error) {
	for range 40 {
		at, rest := ".", name
		followed := false
		for rest != "" {
			var part string
			part, rest, _ = strings.Cut(rest, "/")
			at = path.Join(at, part)
			if target, ok := t.links[at]; ok {
				name = path.Join(path.Dir(at), target, rest)
				if name == ".." || strings.HasPrefix(name, "../") {
					return "", unix.ENOENT
				}
				followed = true
				break
			}
		}
		if !followed {
			return at, nil
		}
	}
	return "", unix.ELOOP
}

func (t *fileTree) fail(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: t.root + "/" + name, Err: err}
}

// find returns the file at name.
func (t *fileTree) find(op, name string) (*node, error) {
	if err := t.failure(op, name); err != nil {
		return nil, err
	}
	if !fs.ValidPath(name) {
		return nil, t.fail(op, name, unix.EINVAL)
	}
	at, err := t.resolve(name)
	if err != nil {
		return nil, t.fail(op, name, err)
	}
	if n, ok := t.files[at]; ok {
		return n, nil
	}
	if _, ok := t.dirs[at]; ok {
		return nil, t.fail(op, name, unix.EISDIR)
	}
	return nil, t.fail(op, name, unix.ENOENT)
}

// Open opens a file for repeated reading.
func (t *fileTree) Open(name string) (tree.File, error) {
	t.sim.mu.Lock()
	defer t.sim.mu.Unlock()
	n, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.read == nil {
		return nil, t.fail("open", name, unix.EACCES)
	}
	return &openFile{tree: t, node: n, name: name}, nil
}

// Write is one write(2) to a file.
func (t *fileTree) Write(name string, p []byte) error {
	t.sim.mu.Lock()
	defer t.sim.mu.Unlock()
	n, err := t.find("open", name)
	if err != nil {
		return err
	}
	if n.write == nil {
		return t.fail("write", name, n.readOnly)
	}
	if err := n.write(string(p)); err != nil {
		return t.fail("write", name, err)
	}
	return nil
}

// List returns the names in a directory, sorted.
func (t *fileTree) List(name string) ([]string, error) {
	t.sim.mu.Lock()
	defer t.sim.mu.Unlock()
	if err := t.failure("open", name); err != nil {
		return nil, err
	}
	if !fs.ValidPath(name) {
		return nil, t.fail("open", name, unix.EINVAL)
	}
	at, err := t.resolve(name)
	if err != nil {
		return nil, t.fail("open", name, err)
	}
	names, ok := t.dirs[at]
	if !ok {
		if _, isFile := t.files[at]; isFile {
			return nil, t.fail("readdir", name, unix.ENOTDIR)
		}
		return nil, t.fail("open", name, unix.ENOENT)
	}
	return slices.Clone(names), nil
}

// Readlink returns where a link points.
func (t *fileTree) Readlink(name string) (string, error) {
	t.sim.mu.Lock()
	defer t.sim.mu.Unlock()
	if !fs.ValidPath(name) {
		return "", t.fail("readlink", name, unix.EINVAL)
	}
	dir, err := t.resolve(path.Dir(name))
	if err != nil {
		return "", t.fail("readlink", name, err)
	}
	at := path.Join(dir, path.Base(name))
	if target, ok := t.links[at]; ok {
		return target, nil
	}
	_, isFile := t.files[at]
	_, isDir := t.dirs[at]
	if isFile || isDir {
		return "", t.fail("readlink", name, unix.EINVAL)
	}
	return "", t.fail("readlink", name, unix.ENOENT)
}

// String names the root.
func (t *fileTree) String() string { return t.root }

type openFile struct {
	tree *fileTree
	node *node
	name string
}

func (f *openFile) ReadFresh(p []byte) (int, error) {
	s := f.tree.sim
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := f.tree.failure("read", f.name); err != nil {
		return 0, err
	}
	if f.node.life != nil && f.node.life.ended {
		return 0, f.tree.fail("read", f.name, f.node.gone)
	}
	s.scratch = f.node.read(s.scratch[:0])
	return copy(p, s.scratch), nil
}

func (f *openFile) Close() error { return nil }

// text is a file that always says the same.
func text(v string) func([]byte) []byte {
	return func(b []byte) []byte { return append(b, v...) }
}

// decimal is "%d\n".
func decimal(b []byte, v int64) []byte { return append(strconv.AppendInt(b, v, 10), '\n') }

func (s *Sim) procFiles() {
	add := func(name, v string) {
		s.proc.file(name, &node{read: text(v), readOnly: unix.EACCES})
	}
	add("sys/kernel/osrelease", "6.12.117\n")
	add("sys/kernel/ostype", "Linux\n")
	add("sys/kernel/random/boot_id", "5f0c0de5-0000-4000-8000-000000000001\n")
	add("interrupts", "           CPU0       CPU1       \n"+
		" 16:    1042331          0   PCI-MSI 524288-edge      ath10k_pci\n")
	add("1/comm", "init\n")
	add("2/comm", "kthreadd\n")
	add("mounts", "sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0\n"+
		"debugfs /sys/kernel/debug debugfs rw,nosuid,nodev,noexec,relatime 0 0\n")
	s.proc.link("self", "1")
	s.proc.file("1/mounts", s.proc.files["mounts"])
}

func (s *Sim) sysFiles() {
	t := &s.sys
	fixed := func(name, v string) {
		t.file(name, &node{read: text(v), readOnly: unix.EACCES, life: s.radio, gone: unix.ENODEV})
	}
	for _, name := range []string{"online", "possible", "present"} {
		t.file("devices/system/cpu/"+name, &node{read: text("0-1\n"), readOnly: unix.EACCES})
	}
	t.dir("class/ieee80211")
	t.dir("class/net")
	t.dir("bus/pci/devices")
	t.dir("bus/pci/drivers/ath10k_pci")
	t.dir("module/ath10k_core")
	t.dir("module/ath10k_pci")
	t.dir(pciParent)
	t.dir("kernel/debug")
	if s.gone {
		return
	}
	dev := pciParent + "/" + pciSlot
	fixed(dev+"/vendor", "0x168c\n")
	fixed(dev+"/device", "0x0046\n")
	fixed(dev+"/subsystem_vendor", "0x168c\n")
	fixed(dev+"/subsystem_device", "0xcafe\n")
	fixed(dev+"/class", "0x028000\n")
	fixed(dev+"/revision", "0x00\n")
	fixed(dev+"/irq", "16\n")
	fixed(dev+"/uevent", "DRIVER=ath10k_pci\nPCI_CLASS=28000\nPCI_ID=168C:0046\nPCI_SUBSYS_ID=168C:CAFE\n"+
		"PCI_SLOT_NAME="+pciSlot+"\nMODALIAS=pci:v0000168Cd00000046sv0000168Csd0000CAFEbc02sc80i00\n")
	t.link(dev+"/driver", "../../../../bus/pci/drivers/ath10k_pci")
	t.link(dev+"/subsystem", "../../../../bus/pci")
	t.link("bus/pci/devices/"+pciSlot, "../../../"+dev)
	t.link("bus/pci/drivers/ath10k_pci/"+pciSlot, "../../../../"+dev)
	t.link("bus/pci/drivers/ath10k_pci/module", "../../../../module/ath10k_pci")

	phy := dev + "/ieee80211/" + s.phy
	t.link("class/ieee80211/"+s.phy, "../../"+phy)
	fixed(phy+"/index", strconv.Itoa(s.phyIndex)+"\n")
	fixed(phy+"/name", s.phy+"\n")
	fixed(phy+"/macaddress", "02:00:00:00:00:00\n")
	fixed(phy+"/addresses", "02:00:00:00:00:00\n")
	fixed(phy+"/address_mask", "00:00:00:00:00:00\n")
	fixed(phy+"/uevent", "")
	t.link(phy+"/device", "../../../"+pciSlot)
	t.link(phy+"/subsystem", "../../../../../../class/ieee80211")

	net := dev + "/net/" + iface
	t.link("class/net/"+iface, "../../"+net)
	fixed(net+"/address", "02:00:00:00:00:00\n")
	fixed(net+"/ifindex", strconv.Itoa(ifindex)+"\n")
	fixed(net+"/operstate", "up\n")
	fixed(net+"/type", "1\n")
	fixed(net+"/uevent", "DEVTYPE=wlan\nINTERFACE="+iface+"\nIFINDEX="+strconv.Itoa(ifindex)+"\n")
	// The netdev has no NAPI of its own: ath10k keeps it on a hidden one.
	t.file(net+"/threaded", &node{
		read: text("0\n"), life: s.radio, gone: unix.ENODEV,
		write: func(p string) error {
			if p == "" {
				return nil
			}
			if _, ok := kstrtou64(p, 0); !ok {
				return unix.EINVAL
			}
			return unix.EOPNOTSUPP
		},
	})
	t.dir(net + "/wireless")
	t.link(net+"/phy80211", "../../ieee80211/"+s.phy)
	t.link(net+"/device", "../../../"+pciSlot)
	t.link(net+"/subsystem", "../../../../../../class/net")
}

func (s *Sim) debugFiles() {
	t := &s.debug
	t.dir("ieee80211")
	if s.gone {
		return
	}
	life := s.radio
	add := func(name string, read func([]byte) []byte, write func(string) error) {
		t.file(name, &node{read: read, write: write, life: life, readOnly: unix.EINVAL, gone: unix.EIO})
	}
	phy := "ieee80211/" + s.phy
	add(phy+"/aql_txq_limit", s.readTxqLimit, s.writeTxqLimit)
	add(phy+"/aql_threshold", s.readThreshold, s.writeThreshold)
	add(phy+"/aql_enable", s.readEnable, s.writeEnable)
	add(phy+"/aql_pending", s.readPending, nil)
	add(phy+"/aqm", s.readAqm, s.writeAqm)
	add(phy+"/queues", s.readQueues, nil)
	add(phy+"/airtime_flags", s.readAirtimeFlags, s.writeAirtimeFlags)
	add(phy+"/misc", s.readMisc, nil)
	add(phy+"/rate_ctrl_alg", text("hw/driver\n"), nil)

	a := phy + "/ath10k"
	if !s.opt.Stock {
		add(a+"/num_pending_tx", func(b []byte) []byte { return decimal(b, int64(s.drv.pending)) }, nil)
		add(a+"/max_num_pending_tx", func(b []byte) []byte { return decimal(b, int64(s.drv.max)) }, nil)
	}
	if s.opt.Patched && !s.opt.Stock {
		number := func(name string, v *int32, most int64) {
			add(name, func(b []byte) []byte { return decimal(b, int64(*v)) }, writeNumber(v, most))
		}
		number(a+"/tx_queue_limit", &s.drv.limit, math.MaxInt32)
		number(a+"/tx_wake_percent", &s.patched.wakePercent, 100)
		number(a+"/napi_threaded", &s.patched.napiThreaded, 1)
		number(phy+"/tx_sk_pacing_shift", &s.patched.pacingShift, 31)
	}
	add(a+"/chip_id", text("0x01000000\n"), nil)
	add(a+"/peer_stats", text("1\n"), nil)
	add(a+"/fw_reset_stats", s.readResetStats, nil)
	add(a+"/fw_checksums", text("firmware-N.bin\t\tb8f13a3c\nathwlan\t\t\t2c7e5a1d\notp\t\t\t8e2f5ab4\n"+
		"codeswap\t\t00000000\nboard-N.bin\t\t9c7d2f10\nboard\t\t\t3fbd46a2\n"), nil)

	net := phy + "/netdev:" + iface
	add(net+"/hw_queues", text("AC queues: VO:0 VI:0 BE:0 BK:0\ncab queue: 0\n"), nil)
	add(net+"/aqm", text("ac backlog-bytes backlog-packets new-flows drops marks overlimit collisions tx-bytes tx-packets\n"+
		"2 0 0 0 0 0 0 0 0 0\n"), nil)
	t.dir(net + "/stations")
	for _, st := range s.assoc {
		life = s.stationLives[st.index]
		dir := net + "/stations/" + st.mac.String()
		if !s.opt.NoAQL {
			add(dir+"/aql", st.readAql, st.writeAql)
		}
		add(dir+"/airtime", st.readAirtime, st.writeAirtime)
		add(dir+"/aqm", st.readAqm, nil)
		add(dir+"/flags", text("AUTH\nASSOC\nWME\nAUTHORIZED\nSHORT_PREAMBLE\n"), nil)
		add(dir+"/peer_ps_state", func(b []byte) []byte { return decimal(b, int64(boolInt(st.asleep))) }, nil)
		add(dir+"/num_ps_buf_frames", text("AC0: 0\nAC1: 0\nAC2: 0\nAC3: 0\n"), nil)
	}
}

// setLimit is what a write to aql_txq_limit does: stations that have what the
// radio had move along, those with limits of their own keep them.
func (s *Sim) setLimit(ac int, l wlan.Limit) {
	old := s.aql.limits.AC[ac]
	s.aql.limits.AC[ac] = l
	for _, st := range s.assoc {
		if a := &st.airtime[ac]; a.limit == old {
			a.limit = l
		}
	}
}

// patched are settings of a patched kernel that the simulation keeps and does not
// act upon: there is no TCP of the host's own, nor a CPU.
type patched struct{ pacingShift, wakePercent, napiThreaded int32 }

// writeNumber is kstrtoint_from_user and a check of the range.
func writeNumber(v *int32, most int64) func(string) error {
	return func(p string) error {
		n, ok := kstrtou64(p, 0)
		switch {
		case !ok:
			return unix.EINVAL
		case n > math.MaxInt32:
			return unix.ERANGE
		case int64(n) > most:
			return unix.EINVAL
		}
		*v = int32(n)
		return nil
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
