package debugfs

// AirtimeFlags tells which directions count for airtime fairness.
type AirtimeFlags uint16

// The flags (net/mac80211/ieee80211_i.h, AIRTIME_USE_TX and AIRTIME_USE_RX).
const (
	AirtimeTX AirtimeFlags = 1 << iota
	AirtimeRX
)

const airtimeFlags = "airtime_flags"

// ParseAirtimeFlags reads one line per flag that is set, so none if the text
// is empty:
//
//	AIRTIME_TX	(1)
//	AIRTIME_RX	(2)
//
// Source: airtime_flags (net/mac80211/debugfs.c, airtime_flags_read).
func ParseAirtimeFlags(b []byte, out *AirtimeFlags) error {
	*out = 0
	if len(b) == 0 {
		return nil
	}
	if err := wholeLines(airtimeFlags, b); err != nil {
		return err
	}
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		name, rest := cutField(line)
		value, _ := cutField(rest)
		if len(name) == 0 || len(value) < 3 || value[0] != '(' || value[len(value)-1] != ')' {
			return garbled(airtimeFlags, "", "NAME (BIT)", line)
		}
		switch string(name) {
		case "AIRTIME_TX":
			*out |= AirtimeTX
		case "AIRTIME_RX":
			*out |= AirtimeRX
		}
	}
	return nil
}

// AirtimeFlags reads which directions count for airtime fairness.
func (p *Phy) AirtimeFlags() (AirtimeFlags, error) {
	return readOnce(p, p.dir, airtimeFlags, ParseAirtimeFlags)
}
