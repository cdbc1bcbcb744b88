package debugfs

const txWakePercent = "ath10k/tx_wake_percent"

func parseTxWakePercent(b []byte, out *int) error {
	return parseOne(txWakePercent, "0 to 100", b, out, func(b []byte) (int, bool) {
		v, ok := parseCount(b)
		return v, ok && v <= 100
	})
}

// TxWakePercent is the share of MaxNumPendingTx to which NumPendingTx has to
// fall before stopped queues wake. Only patched kernels have the file; others
// answer ErrAbsent, and most wake at the first free slot. There is nothing
// here to write it: with limits in force, queues do not stop.
//
// Source: ath10k/tx_wake_percent (packaging/kernel, 0004).
func (p *Phy) TxWakePercent() (int, error) {
	return readOnce(p, p.dir, txWakePercent, parseTxWakePercent)
}
