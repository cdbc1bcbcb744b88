// Package sandbox takes from this process, for good, the files it has no use
// for. It is the last line of defence: a fault in a parser then cannot reach
// what the system's users keep.
package sandbox

// Files are the directories whose files stay in reach, with everything below
// them. One that does not exist is left out.
type Files struct {
	// Read is for reading only.
	Read []string
	// Write is for reading and writing what is there.
	Write []string
	// Remove is for removing files.
	Remove []string
	// Keep is for all of that, and for making files and directories.
	Keep []string
}
