package inet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
)

// Netlink's numbers (include/uapi/linux/netlink.h).
const (
	headerLen = 16
	attrLen   = 4

	typeError = 2
	typeDone  = 3

	flagRequest = 1
	flagDump    = 0x300
)

var (
	native = binary.NativeEndian

	errShort = errors.New("netlink: a message is cut off")
)

// request is a request for a list: netlink's header and the family's.
func request(kind uint16, seq uint32, body []byte) []byte {
	b := make([]byte, headerLen, headerLen+len(body))
	native.PutUint32(b, uint32(headerLen+len(body)))
	native.PutUint16(b[4:], kind)
	native.PutUint16(b[6:], flagRequest|flagDump)
	native.PutUint32(b[8:], seq)
	return append(b, body...)
}

// parseReplies hands the messages of one datagram to each that answer request seq.
// It reports whether the list ended.
func parseReplies(b []byte, seq uint32, each func(kind uint16, body []byte)) (done bool, err error) {
	for len(b) > 0 {
		if len(b) < headerLen {
			return false, errShort
		}
		length := native.Uint32(b)
		if length < headerLen || uint64(length) > uint64(len(b)) {
			return false, errShort
		}
		kind, ours := native.Uint16(b[4:]), native.Uint32(b[8:]) == seq
		body := b[headerLen:length]
		b = b[min(align(int(length)), len(b)):]
		switch {
		case !ours:
		case kind == typeError || kind == typeDone:
			// An error code follows: below 0, or what a list ends with.
			if len(body) >= 4 {
				if code := int32(native.Uint32(body)); code < 0 {
					return true, fmt.Errorf("netlink: %w", syscall.Errno(-code))
				}
			}
			return true, nil
		default:
			each(kind, body)
		}
	}
	return false, nil
}

// cutAttr cuts the first attribute off a list of them. Those that are cut off or
// senseless end the list.
func cutAttr(b []byte) (kind uint16, value, rest []byte, ok bool) {
	if len(b) < attrLen {
		return 0, nil, nil, false
	}
	length := int(native.Uint16(b))
	if length < attrLen || length > len(b) {
		return 0, nil, nil, false
	}
	return native.Uint16(b[2:]) &^ 0xc000, b[attrLen:length], b[min(align(length), len(b)):], true
}

func align(n int) int { return (n + 3) &^ 3 }
