package config

import _ "embed"

// Example is a configuration file that explains every key. The file
// config.example.yaml at the top of the repository is a copy of it.
//
//go:embed example.yaml
var Example []byte
