//go:build (mips || mipsle) && !full

package inet

// Built says whether this program looks at TCP connections. In builds for MIPS it does
// not, to save flash: such machines forward, and hardly have connections of their own.
const Built = false
