// Code generated from algorithms/finnish.sbl by the Snowball compiler; DO NOT EDIT.

// Package finnish finds the stems of words; see the package snowball.
package finnish

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "pa", A: -1, B: 1, F: nil},
	{Str: "sti", A: -1, B: 2, F: nil},
	{Str: "kaan", A: -1, B: 1, F: nil},
	{Str: "han", A: -1, B: 1, F: nil},
	{Str: "kin", A: -1, B: 1, F: nil},
	{Str: "hän", A: -1, B: 1, F: nil},
	{Str: "kään", A: -1, B: 1, F: nil},
	{Str: "ko", A: -1, B: 1, F: nil},
	{Str: "pä", A: -1, B: 1, F: nil},
	{Str: "kö", A: -1, B: 1, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "lla", A: -1, B: -1, F: nil},
	{Str: "na", A: -1, B: -1, F: nil},
	{Str: "ssa", A: -1, B: -1, F: nil},
	{Str: "ta", A: -1, B: -1, F: nil},
	{Str: "lta", A: 3, B: -1, F: nil},
	{Str: "sta", A: 3, B: -1, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "llä", A: -1, B: -1, F: nil},
	{Str: "nä", A: -1, B: -1, F: nil},
	{Str: "ssä", A: -1, B: -1, F: nil},
	{Str: "tä", A: -1, B: -1, F: nil},
	{Str: "ltä", A: 3, B: -1, F: nil},
	{Str: "stä", A: 3, B: -1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "lle", A: -1, B: -1, F: nil},
	{Str: "ine", A: -1, B: -1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "nsa", A: -1, B: 3, F: nil},
	{Str: "mme", A: -1, B: 3, F: nil},
	{Str: "nne", A: -1, B: 3, F: nil},
	{Str: "ni", A: -1, B: 2, F: nil},
	{Str: "si", A: -1, B: 1, F: nil},
	{Str: "an", A: -1, B: 4, F: nil},
	{Str: "en", A: -1, B: 6, F: nil},
	{Str: "än", A: -1, B: 5, F: nil},
	{Str: "nsä", A: -1, B: 3, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "aa", A: -1, B: -1, F: nil},
	{Str: "ee", A: -1, B: -1, F: nil},
	{Str: "ii", A: -1, B: -1, F: nil},
	{Str: "oo", A: -1, B: -1, F: nil},
	{Str: "uu", A: -1, B: -1, F: nil},
	{Str: "ää", A: -1, B: -1, F: nil},
	{Str: "öö", A: -1, B: -1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "'", A: -1, B: -1, F: nil},
	{Str: "ai", A: -1, B: -1, F: nil},
	{Str: "ei", A: -1, B: -1, F: nil},
	{Str: "ii", A: -1, B: -1, F: nil},
	{Str: "oi", A: -1, B: -1, F: nil},
	{Str: "ui", A: -1, B: -1, F: nil},
	{Str: "äi", A: -1, B: -1, F: nil},
	{Str: "öi", A: -1, B: -1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "a", A: -1, B: 2, F: nil},
	{Str: "lla", A: 0, B: -1, F: nil},
	{Str: "na", A: 0, B: -1, F: nil},
	{Str: "ssa", A: 0, B: -1, F: nil},
	{Str: "ta", A: 0, B: -1, F: nil},
	{Str: "lta", A: 4, B: -1, F: nil},
	{Str: "sta", A: 4, B: -1, F: nil},
	{Str: "tta", A: 4, B: 3, F: nil},
	{Str: "lle", A: -1, B: -1, F: nil},
	{Str: "ine", A: -1, B: -1, F: nil},
	{Str: "ksi", A: -1, B: -1, F: nil},
	{Str: "n", A: -1, B: 1, F: nil},
	{Str: "han", A: 11, B: -1, F: r_A},
	{Str: "den", A: 11, B: -1, F: r_VI},
	{Str: "seen", A: 11, B: -1, F: r_LV},
	{Str: "hen", A: 11, B: -1, F: r_E},
	{Str: "tten", A: 11, B: -1, F: r_VI},
	{Str: "hin", A: 11, B: -1, F: r_I},
	{Str: "siin", A: 11, B: -1, F: r_VI},
	{Str: "hon", A: 11, B: -1, F: r_O},
	{Str: "hun", A: 11, B: -1, F: r_U},
	{Str: "hän", A: 11, B: -1, F: r_A_},
	{Str: "hön", A: 11, B: -1, F: r_O_},
	{Str: "ä", A: -1, B: 2, F: nil},
	{Str: "llä", A: 23, B: -1, F: nil},
	{Str: "nä", A: 23, B: -1, F: nil},
	{Str: "ssä", A: 23, B: -1, F: nil},
	{Str: "tä", A: 23, B: -1, F: nil},
	{Str: "ltä", A: 27, B: -1, F: nil},
	{Str: "stä", A: 27, B: -1, F: nil},
	{Str: "ttä", A: 27, B: 3, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "eja", A: -1, B: -1, F: nil},
	{Str: "mma", A: -1, B: 1, F: nil},
	{Str: "imma", A: 1, B: -1, F: nil},
	{Str: "mpa", A: -1, B: 1, F: nil},
	{Str: "impa", A: 3, B: -1, F: nil},
	{Str: "mmi", A: -1, B: 1, F: nil},
	{Str: "immi", A: 5, B: -1, F: nil},
	{Str: "mpi", A: -1, B: 1, F: nil},
	{Str: "impi", A: 7, B: -1, F: nil},
	{Str: "ejä", A: -1, B: -1, F: nil},
	{Str: "mmä", A: -1, B: 1, F: nil},
	{Str: "immä", A: 10, B: -1, F: nil},
	{Str: "mpä", A: -1, B: 1, F: nil},
	{Str: "impä", A: 12, B: -1, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "i", A: -1, B: -1, F: nil},
	{Str: "j", A: -1, B: -1, F: nil},
}

var A_10 = []*snowballRuntime.Among{
	{Str: "mma", A: -1, B: 1, F: nil},
	{Str: "imma", A: 0, B: -1, F: nil},
}

var G_AEI = []byte{17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8}

var G_C = []byte{119, 223, 119, 1}

var G_v = []byte{17, 65, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 32}

var G_particle_end = []byte{17, 97, 24, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 32}

type Context struct {
}

func r_LV(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	return env.FindAmongB(A_5, context) != 0
}

func r_VI(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	return env.FindAmongB(A_6, context) != 0
}

func r_A(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
	lab1:
		for {
			if !env.EqSB("a") {
				break lab1
			}
			break lab0
		}
		if !env.EqSB("'") {
			return false
		}
		break lab0
	}
	return true
}

func r_E(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
	lab1:
		for {
			if !env.EqSB("e") {
				break lab1
			}
			break lab0
		}
		if !env.EqSB("'") {
			return false
		}
		break lab0
	}
	return true
}

func r_I(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
	lab1:
		for {
			if !env.EqSB("i") {
				break lab1
			}
			break lab0
		}
		if !env.EqSB("'") {
			return false
		}
		break lab0
	}
	return true
}

func r_O(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
	lab1:
		for {
			if !env.EqSB("o") {
				break lab1
			}
			break lab0
		}
		if !env.EqSB("'") {
			return false
		}
		break lab0
	}
	return true
}

func r_U(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
	lab1:
		for {
			if !env.EqSB("u") {
				break lab1
			}
			break lab0
		}
		if !env.EqSB("'") {
			return false
		}
		break lab0
	}
	return true
}

func r_A_(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
	lab1:
		for {
			if !env.EqSB("ä") {
				break lab1
			}
			break lab0
		}
		if !env.EqSB("'") {
			return false
		}
		break lab0
	}
	return true
}

func r_O_(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
	lab1:
		for {
			if !env.EqSB("ö") {
				break lab1
			}
			break lab0
		}
	lab2:
		for {
			if !env.EqSB("ø") {
				break lab2
			}
			break lab0
		}
		if !env.EqSB("'") {
			return false
		}
		break lab0
	}
	return true
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var b_ending_removed bool
	var S_x string
	var i_p2 int
	var i_p1 int
	var v_1 = env.Cursor
lab0:
	for {
		i_p1 = env.Limit
		i_p2 = env.Limit
		if !env.GoOutGrouping(G_v, 97, 246) {
			break lab0
		}
		env.NextChar()
		if !env.GoInGrouping(G_v, 97, 246) {
			break lab0
		}
		env.NextChar()
		i_p1 = env.Cursor
		if !env.GoOutGrouping(G_v, 97, 246) {
			break lab0
		}
		env.NextChar()
		if !env.GoInGrouping(G_v, 97, 246) {
			break lab0
		}
		env.NextChar()
		i_p2 = env.Cursor
		break lab0
	}
	env.Cursor = v_1
	b_ending_removed = false
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_2 = env.Limit - env.Cursor
lab1:
	for {
		if env.Cursor < i_p1 {
			break lab1
		}
		var v_3 = env.LimitBackward
		env.LimitBackward = i_p1
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_0, context)
		if among_var == 0 {
			env.LimitBackward = v_3
			break lab1
		}
		env.Bra = env.Cursor
		env.LimitBackward = v_3
		switch among_var {
		case 1:
			if !env.InGroupingB(G_particle_end, 97, 246) {
				break lab1
			}
		case 2:
			if i_p2 > env.Cursor {
				break lab1
			}
		}
		env.SliceDel()
		break lab1
	}
	env.Cursor = env.Limit - v_2
	var v_4 = env.Limit - env.Cursor
lab2:
	for {
		if env.Cursor < i_p1 {
			break lab2
		}
		var v_5 = env.LimitBackward
		env.LimitBackward = i_p1
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_4, context)
		if among_var == 0 {
			env.LimitBackward = v_5
			break lab2
		}
		env.Bra = env.Cursor
		env.LimitBackward = v_5
		switch among_var {
		case 1:
		lab3:
			for {
				if !env.EqSB("k") {
					break lab3
				}
				break lab2
			}
			env.SliceDel()
		case 2:
			env.SliceDel()
			env.Ket = env.Cursor
			if !env.EqSB("kse") {
				break lab2
			}
			env.Bra = env.Cursor
			env.SliceFrom("ksi")
		case 3:
			env.SliceDel()
		case 4:
			if env.FindAmongB(A_1, context) == 0 {
				break lab2
			}
			env.SliceDel()
		case 5:
			if env.FindAmongB(A_2, context) == 0 {
				break lab2
			}
			env.SliceDel()
		case 6:
			if env.FindAmongB(A_3, context) == 0 {
				break lab2
			}
			env.SliceDel()
		}
		break lab2
	}
	env.Cursor = env.Limit - v_4
	var v_6 = env.Limit - env.Cursor
lab4:
	for {
		if env.Cursor < i_p1 {
			break lab4
		}
		var v_7 = env.LimitBackward
		env.LimitBackward = i_p1
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_7, context)
		if among_var == 0 {
			env.LimitBackward = v_7
			break lab4
		}
		env.Bra = env.Cursor
		env.LimitBackward = v_7
		switch among_var {
		case 1:
			var v_8 = env.Limit - env.Cursor
		lab5:
			for {
				var v_9 = env.Limit - env.Cursor
			lab6:
				for {
					var v_10 = env.Limit - env.Cursor
				lab7:
					for {
						if !r_LV(env, context) {
							break lab7
						}
						break lab6
					}
					env.Cursor = env.Limit - v_10
					if !env.EqSB("ie") {
						env.Cursor = env.Limit - v_8
						break lab5
					}
					break lab6
				}
				env.Cursor = env.Limit - v_9
				if env.Cursor <= env.LimitBackward {
					env.Cursor = env.Limit - v_8
					break lab5
				}
				env.PrevChar()
				env.Bra = env.Cursor
				break lab5
			}
		case 2:
			if !env.InGroupingB(G_v, 97, 246) {
				break lab4
			}
			if !env.InGroupingB(G_C, 98, 122) {
				break lab4
			}
		case 3:
			if !env.EqSB("e") {
				break lab4
			}
		}
		env.SliceDel()
		b_ending_removed = true
		break lab4
	}
	env.Cursor = env.Limit - v_6
	var v_11 = env.Limit - env.Cursor
lab8:
	for {
		if env.Cursor < i_p2 {
			break lab8
		}
		var v_12 = env.LimitBackward
		env.LimitBackward = i_p2
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_8, context)
		if among_var == 0 {
			env.LimitBackward = v_12
			break lab8
		}
		env.Bra = env.Cursor
		env.LimitBackward = v_12
		switch among_var {
		case 1:
		lab9:
			for {
				if !env.EqSB("po") {
					break lab9
				}
				break lab8
			}
		}
		env.SliceDel()
		break lab8
	}
	env.Cursor = env.Limit - v_11
lab10:
	for {
	lab11:
		for {
			if !b_ending_removed {
				break lab11
			}
			var v_13 = env.Limit - env.Cursor
		lab12:
			for {
				if env.Cursor < i_p1 {
					break lab12
				}
				var v_14 = env.LimitBackward
				env.LimitBackward = i_p1
				env.Ket = env.Cursor
				if env.FindAmongB(A_9, context) == 0 {
					env.LimitBackward = v_14
					break lab12
				}
				env.Bra = env.Cursor
				env.LimitBackward = v_14
				env.SliceDel()
				break lab12
			}
			env.Cursor = env.Limit - v_13
			break lab10
		}
		var v_15 = env.Limit - env.Cursor
	lab13:
		for {
			if env.Cursor < i_p1 {
				break lab13
			}
			var v_16 = env.LimitBackward
			env.LimitBackward = i_p1
			env.Ket = env.Cursor
			if !env.EqSB("t") {
				env.LimitBackward = v_16
				break lab13
			}
			env.Bra = env.Cursor
			var v_17 = env.Limit - env.Cursor
			if !env.InGroupingB(G_v, 97, 246) {
				env.LimitBackward = v_16
				break lab13
			}
			env.Cursor = env.Limit - v_17
			env.SliceDel()
			env.LimitBackward = v_16
			if env.Cursor < i_p2 {
				break lab13
			}
			var v_18 = env.LimitBackward
			env.LimitBackward = i_p2
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_10, context)
			if among_var == 0 {
				env.LimitBackward = v_18
				break lab13
			}
			env.Bra = env.Cursor
			env.LimitBackward = v_18
			switch among_var {
			case 1:
			lab14:
				for {
					if !env.EqSB("po") {
						break lab14
					}
					break lab13
				}
			}
			env.SliceDel()
			break lab13
		}
		env.Cursor = env.Limit - v_15
		break lab10
	}
	var v_19 = env.Limit - env.Cursor
lab15:
	for {
		if env.Cursor < i_p1 {
			break lab15
		}
		var v_20 = env.LimitBackward
		env.LimitBackward = i_p1
		var v_21 = env.Limit - env.Cursor
	lab16:
		for {
			var v_22 = env.Limit - env.Cursor
			if !r_LV(env, context) {
				break lab16
			}
			env.Cursor = env.Limit - v_22
			env.Ket = env.Cursor
			if env.Cursor <= env.LimitBackward {
				break lab16
			}
			env.PrevChar()
			env.Bra = env.Cursor
			env.SliceDel()
			break lab16
		}
		env.Cursor = env.Limit - v_21
		var v_23 = env.Limit - env.Cursor
	lab17:
		for {
			env.Ket = env.Cursor
			if !env.InGroupingB(G_AEI, 97, 228) {
				break lab17
			}
			env.Bra = env.Cursor
			if !env.InGroupingB(G_C, 98, 122) {
				break lab17
			}
			env.SliceDel()
			break lab17
		}
		env.Cursor = env.Limit - v_23
		var v_24 = env.Limit - env.Cursor
	lab18:
		for {
			env.Ket = env.Cursor
			if !env.EqSB("j") {
				break lab18
			}
			env.Bra = env.Cursor
		lab19:
			for {
			lab20:
				for {
					if !env.EqSB("o") {
						break lab20
					}
					break lab19
				}
				if !env.EqSB("u") {
					break lab18
				}
				break lab19
			}
			env.SliceDel()
			break lab18
		}
		env.Cursor = env.Limit - v_24
		var v_25 = env.Limit - env.Cursor
	lab21:
		for {
			env.Ket = env.Cursor
			if !env.EqSB("o") {
				break lab21
			}
			env.Bra = env.Cursor
			if !env.EqSB("j") {
				break lab21
			}
			env.SliceDel()
			break lab21
		}
		env.Cursor = env.Limit - v_25
		env.LimitBackward = v_20
		var v_26 = env.Limit - env.Cursor
	lab22:
		for {
			if !env.GoInGroupingB(G_v, 97, 246) {
				break lab22
			}
			env.Ket = env.Cursor
			if !env.InGroupingB(G_C, 98, 122) {
				break lab22
			}
			env.Bra = env.Cursor
			S_x = env.SliceTo()
			if !env.EqSB(S_x) {
				break lab22
			}
			env.SliceDel()
			break lab22
		}
		env.Cursor = env.Limit - v_26
		env.Ket = env.Cursor
		if !env.EqSB("'") {
			break lab15
		}
		env.Bra = env.Cursor
		env.SliceDel()
		break lab15
	}
	env.Cursor = env.Limit - v_19
	env.Cursor = env.LimitBackward
	return true
}
