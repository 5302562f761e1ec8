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

// GatewayRoutes returns the lines of all operations: two for each method, as clients of
// LanceDB put a slash at the end of paths and others do not.
//
// An HTTP API takes a path with a slash at its end for another than that without, and no
// route may end in one. A variable that takes the rest of a path takes an empty rest, too.
// REST APIs drop the slash before they look for a route, and need the first line only.
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
