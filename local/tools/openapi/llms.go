package main

import _ "embed"

// llmsHead is what llms.txt says before it lists the operations.
//
//go:embed llms-head.txt
var llmsHead string
