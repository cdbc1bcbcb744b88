package debugfs

const (
	numPendingTx    = "ath10k/num_pending_tx"
	maxNumPendingTx = "ath10k/max_num_pending_tx"
	chipID          = "ath10k/chip_id"
)

// The count may be below zero, which is the kernel's error and for the caller
// to see.
func parseNumPendingTx(b []byte, out *int) error {
	return parseOne(numPendingTx, "a number of frames", b, out, func(b []byte) (int, bool) {
		v, ok := parseI32(b)
		return int(v), ok
	})
}

func parseMaxNumPendingTx(b []byte, out *int) error {
	return parseOne(maxNumPendingTx, "a number of frames", b, out, func(b []byte) (int, bool) {
		v, ok := parseI32(b)
		return int(v), ok && v > 0
	})
}

func parseChipID(b []byte, out *uint32) error {
	return parseOne(chipID, "a hexadecimal number", b, out, parseHex32)
}

// NumPendingTx is the number of frames in driver and firmware. Only patched
// kernels have the file; others answer ErrAbsent.
//
// Source: ath10k/num_pending_tx, of struct ath10k_htt
// (drivers/net/wireless/ath/ath10k/htt_tx.c, ath10k_htt_tx_inc_pending).
func (p *Phy) NumPendingTx() (int, error) {
	return readOnce(p, p.dir, numPendingTx, parseNumPendingTx)
}

// NumPendingTxReader is NumPendingTx for every sample.
func (p *Phy) NumPendingTxReader() *Reader[int] {
	return newReader(p, p.dir, numPendingTx, parseNumPendingTx)
}

// MaxNumPendingTx is how many frames fit into driver and firmware: the driver
// stops all queues when it is reached. It is fixed when the firmware starts.
// Only patched kernels have the file; others answer ErrAbsent.
//
// Source: ath10k/max_num_pending_tx, of struct ath10k_htt
// (drivers/net/wireless/ath/ath10k/core.c, ath10k_core_init_firmware_features).
func (p *Phy) MaxNumPendingTx() (int, error) {
	return readOnce(p, p.dir, maxNumPendingTx, parseMaxNumPendingTx)
}

// ChipID is the chip's own identification, 0 on chips that have none.
//
// Source: ath10k/chip_id (drivers/net/wireless/ath/ath10k/debug.c, ath10k_read_chip_id).
func (p *Phy) ChipID() (uint32, error) {
	return readOnce(p, p.dir, chipID, parseChipID)
}
