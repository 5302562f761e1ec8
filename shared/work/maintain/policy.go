package maintain

import (
	"context"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/upkeep"
	"tiltyard/shared/protocol/auth"
)

// PolicyOf returns the policy of a table. The properties of the table take precedence over the
// properties of the namespaces around it, the innermost first.
func PolicyOf(ctx context.Context, names *catalog.Catalog, id []string) (upkeep.Policy, error) {
	table, err := names.Table(ctx, id)
	if err != nil {
		return upkeep.Policy{}, err
	}
	found := map[string]string{}
	take := func(properties map[string]string) {
		for _, key := range []string{upkeep.PropertyMode, upkeep.PropertyRetention, upkeep.PropertyKeep} {
			if value, ok := properties[key]; ok && found[key] == "" {
				found[key] = value
			}
		}
	}
	take(table.Properties)
	ctx = auth.Unlimited(ctx) // a principal that may maintain a table may lack rights to the namespaces around it
	for around := id[:len(id)-1]; len(around) > 0; around = around[:len(around)-1] {
		namespace, err := names.Namespaces.Get(ctx, around)
		if err != nil {
			return upkeep.Policy{}, err
		}
		take(namespace.Properties)
	}
	return upkeep.Parse(found)
}
