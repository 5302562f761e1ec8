package main

import _ "embed"

// llmsHead is the beginning of llms.txt, before the list of operations.
//
//go:embed llms-head.txt
var llmsHead string
