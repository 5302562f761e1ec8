package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// priceList contains list prices of AWS. COSTS.md is computed from it, too.
//
//go:embed prices.json
var priceList []byte

// prices returns the list prices in dollars, by their names in prices.json.
func prices() map[string]float64 {
	var list struct {
		Dollars map[string]struct{ Price float64 }
	}
	if err := json.Unmarshal(priceList, &list); err != nil {
		panic(fmt.Sprintf("prices.json: %v", err)) // it is embedded at build time
	}
	found := map[string]float64{}
	for name, entry := range list.Dollars {
		found[name] = entry.Price
	}
	return found
}
