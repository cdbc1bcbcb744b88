package debugfs

import "fmt"

const napiThreaded = "ath10k/napi_threaded"

// A kernel newer than us may know a third value: it is no error of the kernel,
// but not one of two either.
func parseNapiThreaded(b []byte, out *bool) error {
	return parseOne(napiThreaded, "0 or 1", b, out, func(b []byte) (bool, bool) {
		v, ok := parseCount(b)
		return v == 1, ok && v <= 1
	})
}

// NapiThreaded reports whether the radio's NAPI has a kernel thread of its own,
// napi/PHY-ID. Only patched kernels have the file; others answer ErrAbsent.
//
// Source: ath10k/napi_threaded (packaging/kernel, 0002).
func (p *Phy) NapiThreaded() (bool, error) {
	return readOnce(p, p.dir, napiThreaded, parseNapiThreaded)
}

// SetNapiThreaded switches the thread on or off. It may take seconds: it waits
// for what else configures the device.
func (p *Phy) SetNapiThreaded(on bool) error {
	value := 0
	if on {
		value = 1
	}
	if err := p.write(p.dir, napiThreaded, fmt.Sprintf("%d\n", value)); err != nil {
		return fmt.Errorf("set napi_threaded to %d: %w", value, err)
	}
	return nil
}
