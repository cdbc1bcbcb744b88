//go:build (!mips && !mipsle) || full

package inet

// Built says whether this program looks at TCP connections.
const Built = true
