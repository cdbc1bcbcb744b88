//go:build mips || mipsle

package compare

import "errors"

// HasFlent is false where flash is scarce.
const HasFlent = false

// Flent is left out where flash is scarce.
func (*Report) Flent(string, string) ([]byte, error) { return nil, errors.ErrUnsupported }
