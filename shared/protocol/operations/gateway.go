package operations

import "tiltyard/shared/protocol"

// A GatewayRoute is one line of the table by which a gateway finds the function of an
// operation.
type GatewayRoute struct {
	Method   string
	Path     string // ends in "/{proxy+}" when Slash
	Function string
	Access   protocol.Access // of the operation
	Slash    bool            // for paths that end in a slash
}

// GatewayRoutes returns the lines of all operations, two for each method, because LanceDB clients
// put a slash at the end of paths and other clients do not.
//
// An HTTP API distinguishes paths with and without a final slash, and no route may end in a slash.
// But a variable for the rest of a path also matches an empty rest. REST APIs drop the slash before
// they match routes, and need the first line only.
func GatewayRoutes() []GatewayRoute {
	var all []GatewayRoute
	for _, op := range All {
		for _, method := range op.Methods {
			all = append(all,
				GatewayRoute{Method: method, Path: op.Path, Function: op.Function, Access: op.Access},
				GatewayRoute{Method: method, Path: op.Path + "/{proxy+}", Function: op.Function, Access: op.Access, Slash: true})
		}
	}
	return all
}
