package debugfs

// FWResetStats counts how often the firmware of an ath10k radio was restarted,
// by reason.
type FWResetStats struct {
	Crashes    uint32
	WarmResets uint32
	ColdResets uint32
}

const fwResetStats = "ath10k/fw_reset_stats"

// ParseFWResetStats reads
//
//	fw_crash_counter		0
//	fw_warm_reset_counter		0
//	fw_cold_reset_counter		1
//
// Source: ath10k/fw_reset_stats (drivers/net/wireless/ath/ath10k/debug.c,
// ath10k_debug_fw_reset_stats_read).
func ParseFWResetStats(b []byte, out *FWResetStats) error {
	*out = FWResetStats{}
	if err := wholeLines(fwResetStats, b); err != nil {
		return err
	}
	var crash, warm, cold bool
	for len(b) > 0 {
		var line []byte
		line, b = cutLine(b)
		label, rest := cutField(line)
		var field *uint32
		switch string(label) {
		case "fw_crash_counter":
			field, crash = &out.Crashes, true
		case "fw_warm_reset_counter":
			field, warm = &out.WarmResets, true
		case "fw_cold_reset_counter":
			field, cold = &out.ColdResets, true
		default:
			continue
		}
		value, rest := cutField(rest)
		v, ok := parseU32(value)
		if !ok || !blank(rest) {
			return garbled(fwResetStats, "row "+string(label), number, value)
		}
		*field = v
	}
	if !crash || !warm || !cold {
		return garbled(fwResetStats, "", "rows for crashes, warm and cold resets", nil)
	}
	return nil
}

// FWResetStatsReader reads the counters again and again. It costs nothing in
// the firmware, unlike most of ath10k's files.
func (p *Phy) FWResetStatsReader() *Reader[FWResetStats] {
	return newReader(p, p.dir, fwResetStats, ParseFWResetStats)
}
