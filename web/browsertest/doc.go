// Package browsertest clicks through the page of airtuned-web with a real
// browser, against the daemon on a simulated radio: make web-test.
package browsertest
