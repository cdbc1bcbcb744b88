package report

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"airtuned/wlan"
)

// names gives each address and name a pseudonym, the same wherever it stands and
// however it is written.
type names struct {
	macs  []wlan.MAC
	ips   []string
	plain []plain        // the longest first: one may be part of another
	count map[string]int // of pseudonyms, by their beginning
}

// plain is a name that is looked for as it is.
type plain struct {
	text, pseudonym string
}

// host adds a host name, and its parts before dots.
func (n *names) host(name string) { n.add("HOST", name, name, before(name)) }

func before(name string) string {
	short, _, _ := strings.Cut(name, ".")
	return short
}

// ssid adds a network's name, in the ways that programs write it.
func (n *names) ssid(name string) {
	quoted, _ := json.Marshal(name)
	escaped := ""
	for i := range len(name) {
		if c := name[i]; c > ' ' && c < 0x7f && c != '\\' || c == ' ' && i > 0 && i < len(name)-1 {
			escaped += name[i : i+1]
		} else {
			escaped += fmt.Sprintf("\\x%02x", c) // as iw does
		}
	}
	n.add("SSID", name, strings.Trim(string(quoted), `"`), escaped, hex.EncodeToString([]byte(name)))
}

// common names tell nothing about anybody.
var common = []string{"", "localhost", "(none)", "openwrt", "lede", "debian", "ubuntu", "raspberrypi", "alpine"}

// add gives all spellings of a name one pseudonym.
func (n *names) add(kind string, spellings ...string) {
	if slices.Contains(common, strings.ToLower(spellings[0])) {
		return
	}
	for _, p := range n.plain {
		if strings.EqualFold(p.text, spellings[0]) {
			return
		}
	}
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.count[kind]++
	for _, s := range spellings {
		i := 0
		for i < len(n.plain) && len(n.plain[i].text) >= len(s) {
			i++
		}
		n.plain = slices.Insert(n.plain, i, plain{s, fmt.Sprint(kind, "-", n.count[kind])})
	}
}

// findSSIDs adds what a text says are networks' names: ssid=..., SSID: ...
func (n *names) findSSIDs(text string) {
	for _, line := range strings.Split(text, "\n") {
		i := strings.Index(strings.ToLower(line), "ssid")
		if i < 0 || i > 0 && alnum(line[i-1]) && !strings.HasSuffix(strings.ToLower(line[:i]), "wpa_") {
			continue
		}
		value := strings.TrimLeft(line[i+len("ssid"):], ` "'`)
		if value == "" || value[0] != '=' && value[0] != ':' && line[i+len("ssid")] != ' ' {
			continue
		}
		value = strings.Trim(value, " \t=:\"',")
		if len(value) > 0 && len(value) <= 32 {
			n.ssid(value)
		}
	}
}

// replace puts pseudonyms into a text. What it has not seen before gets new ones.
func (n *names) replace(text string) string {
	n.findSSIDs(text)
	for _, p := range n.plain {
		text = replaceFold(text, p.text, p.pseudonym)
	}
	n.scan(text) // to know addresses that elsewhere stand without their colons
	return n.scan(text)
}

// replaceFold replaces a name that stands alone, or is long enough to stand for
// nothing else, whatever its case.
func replaceFold(text, name, pseudonym string) string {
	lower, want := strings.ToLower(text), strings.ToLower(name)
	if len(lower) != len(text) { // a letter whose small form is longer
		return strings.ReplaceAll(text, name, pseudonym)
	}
	var b strings.Builder
	done := 0
	for i := 0; ; {
		at := strings.Index(lower[i:], want)
		if at < 0 {
			break
		}
		start := i + at
		end := start + len(want)
		i = start + 1
		alone := (start == 0 || !alnum(text[start-1])) && (end == len(text) || !alnum(text[end]))
		if alone || len(want) >= 6 {
			b.WriteString(text[done:start] + pseudonym)
			done, i = end, end
		}
	}
	return b.String() + text[done:]
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// scan replaces addresses.
func (n *names) scan(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		if i == 0 || !alnum(text[i-1]) {
			if end, s := n.address(text, i); end > i {
				b.WriteString(s)
				i = end
				continue
			}
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String()
}

// address replaces the address that begins at i, if one does.
func (n *names) address(text string, i int) (end int, s string) {
	if end, s = n.pairs(text, i); end > i {
		return end, s
	}
	// The word, of letters and digits alone.
	for end = i; end < len(text) && alnum(text[end]); end++ {
	}
	if s, ok := n.bare(text[i:end]); ok {
		return end, s
	}
	// Four digits a group: aabb.ccdd.eeff.
	if end-i == 4 && i+14 <= len(text) && text[i+4] == '.' && text[i+9] == '.' && (i+14 == len(text) || !alnum(text[i+14]) && text[i+14] != '.') {
		if mac, ok := parseHex(text[i:i+4] + text[i+5:i+9] + text[i+10:i+14]); ok {
			return i + 14, n.mac(mac)
		}
	}
	// The longest run that may be an IP address.
	if i > 0 && (text[i-1] == '-' || text[i-1] == '.' || text[i-1] == ':') && text[i] != ':' {
		return i, ""
	}
	colons := ":."
	if dot := strings.IndexAny(text[i:], ":."); dot >= 0 && text[i+dot] == '.' {
		colons = "." // an IPv4 address may have a port behind it
	}
	for end = i; end < len(text) && (hexDigit(text[end]) || strings.IndexByte(colons, text[end]) >= 0); end++ {
	}
	if end < len(text) && (alnum(text[end]) || text[end] == '-') {
		return i, ""
	}
	word := strings.TrimRight(text[i:end], ".:")
	if strings.HasSuffix(text[i:end], "::") {
		word = text[i:end]
	}
	if ip, err := netip.ParseAddr(word); err == nil {
		return i + len(word), n.ip(ip, word)
	}
	if strings.Count(word, ":") == 3 { // the lower half of an IPv6 address
		if ip, err := netip.ParseAddr("fe80::" + word); err == nil {
			if mac, ok := eui64(ip); ok {
				return i + len(word), n.mac(mac) + "-EUI"
			}
		}
	}
	return i, ""
}

// pairs replaces six or more pairs of hexadecimal digits with one sign between
// them: a MAC address, an EUI-64, or some other identity.
func (n *names) pairs(text string, i int) (end int, s string) {
	if i+3 > len(text) || !hexDigit(text[i]) || !hexDigit(text[i+1]) || !strings.ContainsRune(":-_ ", rune(text[i+2])) {
		return i, ""
	}
	sep := text[i+2]
	var digits []byte
	for end = i; ; end += 3 {
		if end+2 > len(text) || !hexDigit(text[end]) || !hexDigit(text[end+1]) {
			end--
			break
		}
		digits = append(digits, text[end], text[end+1])
		if end+2 == len(text) || text[end+2] != sep {
			end += 2
			break
		}
	}
	if end < len(text) && alnum(text[end]) {
		return i, ""
	}
	known := func(mac wlan.MAC, ok bool) bool { return ok && (sep != ' ' || slices.Contains(n.macs, mac)) }
	switch len(digits) {
	case 12:
		if mac, ok := parseHex(string(digits)); known(mac, ok) {
			return end, n.mac(mac)
		}
	case 16:
		if mac, ok := eui64Of(string(digits)); known(mac, ok) {
			return end, n.mac(mac) + "-EUI"
		}
		fallthrough
	default:
		if len(digits) > 12 && sep != ' ' {
			return end, fmt.Sprintf("(%d bytes)", len(digits)/2)
		}
	}
	return i, ""
}

// bare replaces a word that is an address without any signs in it, as in
// wlx00112233445566; one of digits alone only if the address is known.
func (n *names) bare(word string) (string, bool) {
	front := ""
	for _, p := range []string{"0x", "0X", "wlx", "enx", "wwx"} {
		if rest, ok := strings.CutPrefix(word, p); ok && len(rest) >= 12 {
			front, word = p, rest
		}
	}
	if len(word) == 16 {
		if mac, ok := eui64Of(word); ok {
			return front + n.mac(mac) + "-EUI", true
		}
	}
	if mac, ok := parseHex(word); ok {
		if front != "" && front[0] != '0' || strings.ContainsAny(word, "abcdefABCDEF") || slices.Contains(n.macs, mac) {
			return front + n.mac(mac), true
		}
	}
	if len(word) <= 12 {
		return "", false
	}
	// Somewhere in a longer word.
	for _, mac := range n.macs {
		if at := strings.Index(strings.ToLower(word), hex.EncodeToString(mac[:])); at >= 0 {
			return front + word[:at] + n.mac(mac) + word[at+12:], true
		}
	}
	return "", false
}

func parseHex(s string) (mac wlan.MAC, ok bool) {
	if len(s) != 2*len(mac) {
		return mac, false
	}
	_, err := hex.Decode(mac[:], []byte(s))
	return mac, err == nil
}

// eui64Of is the MAC address in the 16 digits of an EUI-64.
func eui64Of(digits string) (mac wlan.MAC, ok bool) {
	if !strings.EqualFold(digits[6:10], "fffe") {
		return mac, false
	}
	mac, ok = parseHex(digits[:6] + digits[10:])
	mac[0] ^= 2
	return mac, ok
}

// eui64 is the MAC address that an IPv6 address was made from.
func eui64(ip netip.Addr) (mac wlan.MAC, ok bool) {
	b := ip.As16()
	if !ip.Is6() || b[11] != 0xff || b[12] != 0xfe {
		return mac, false
	}
	return wlan.MAC{b[8] ^ 2, b[9], b[10], b[13], b[14], b[15]}, true
}

// mac is the pseudonym of an address. Nobody's and everybody's have none.
func (n *names) mac(mac wlan.MAC) string {
	switch mac {
	case wlan.MAC{}, wlan.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}:
		return mac.String()
	}
	i := slices.Index(n.macs, mac)
	if i < 0 {
		i = len(n.macs)
		n.macs = append(n.macs, mac)
	}
	return fmt.Sprint("MAC-", i+1)
}

func (n *names) ip(ip netip.Addr, word string) string {
	if mac, ok := eui64(ip); ok {
		return n.mac(mac) + "-IP"
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		return word
	}
	i := slices.Index(n.ips, ip.String())
	if i < 0 {
		i = len(n.ips)
		n.ips = append(n.ips, ip.String())
	}
	return fmt.Sprint("IP-", i+1)
}
