package inet

import "time"

// TCPInfo is what the kernel knows of a connection (include/uapi/linux/tcp.h, struct
// tcp_info).
type TCPInfo struct {
	// Has tells which of the fields below the kernel filled in.
	Has Fields

	RTT         time.Duration // smoothed
	SinceSent   time.Duration // since it last sent data
	Cwnd        uint32        // segments
	Retransmits uint32        // segments, since the connection was opened

	AckedBytes   uint64 // since the connection was opened
	NotSentBytes uint32 // wait in the socket to be sent
	MinRTT       time.Duration
	// DeliveryBps is the rate that was acknowledged of late, in bytes per second. It is
	// less than the path could carry where AppLimited.
	DeliveryBps uint64
	AppLimited  bool
}

// Fields is a set of TCPInfo's fields.
type Fields uint8

// The fields that some kernels, or some connections, lack.
const (
	HasBasics   Fields = 1 << iota // RTT, SinceSent, Cwnd, Retransmits: Linux 2.6
	HasAcked                       // 4.1
	HasNotSent                     // 4.6
	HasMinRTT                      // 4.6, and a round trip was measured
	HasDelivery                    // 4.9, and something was delivered
	HasRTT                         // a round trip was measured
)

const (
	tcpInfoBasics = 104       // up to tcpi_total_retrans
	noMinRTT      = 1<<32 - 1 // none was measured
)

// parseTCPInfo reads the structure, which grows at its end from kernel to kernel:
// what a shorter one lacks is not in Has, what a longer one has more is ignored.
//
// Source: net/ipv4/tcp.c, tcp_get_info.
func parseTCPInfo(b []byte, out *TCPInfo) {
	*out = TCPInfo{}
	if len(b) < tcpInfoBasics {
		return
	}
	us := func(at int) time.Duration { return time.Duration(native.Uint32(b[at:])) * time.Microsecond }
	out.Has = HasBasics
	out.SinceSent = time.Duration(native.Uint32(b[44:])) * time.Millisecond
	if out.RTT = us(68); out.RTT > 0 {
		out.Has |= HasRTT
	}
	out.Cwnd = native.Uint32(b[80:])
	out.Retransmits = native.Uint32(b[100:])
	if len(b) >= 128 {
		out.AckedBytes = native.Uint64(b[120:])
		out.Has |= HasAcked
	}
	if len(b) >= 152 {
		out.NotSentBytes = native.Uint32(b[144:])
		out.Has |= HasNotSent
		if native.Uint32(b[148:]) != noMinRTT {
			out.MinRTT = us(148)
			out.Has |= HasMinRTT
		}
	}
	if len(b) >= 168 {
		out.DeliveryBps = native.Uint64(b[160:])
		// A bit-field: the lowest bit on little endian, the highest on big.
		out.AppLimited = b[7]&appLimited != 0
		if out.DeliveryBps > 0 {
			out.Has |= HasDelivery
		}
	}
}

var appLimited = func() byte {
	if native.Uint16([]byte{1, 0}) == 1 {
		return 1
	}
	return 0x80
}()
