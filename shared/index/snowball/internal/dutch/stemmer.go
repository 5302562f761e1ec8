// Code generated from algorithms/dutch.sbl by the Snowball compiler; DO NOT EDIT.

// Package dutch finds the stems of words; see the package snowball.
package dutch

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "a", A: -1, B: 1, F: nil},
	{Str: "e", A: -1, B: 2, F: nil},
	{Str: "o", A: -1, B: 1, F: nil},
	{Str: "u", A: -1, B: 1, F: nil},
	{Str: "à", A: -1, B: 1, F: nil},
	{Str: "á", A: -1, B: 1, F: nil},
	{Str: "â", A: -1, B: 1, F: nil},
	{Str: "ä", A: -1, B: 1, F: nil},
	{Str: "è", A: -1, B: 2, F: nil},
	{Str: "é", A: -1, B: 2, F: nil},
	{Str: "ê", A: -1, B: 2, F: nil},
	{Str: "eë", A: -1, B: 3, F: nil},
	{Str: "ië", A: -1, B: 4, F: nil},
	{Str: "ò", A: -1, B: 1, F: nil},
	{Str: "ó", A: -1, B: 1, F: nil},
	{Str: "ô", A: -1, B: 1, F: nil},
	{Str: "ö", A: -1, B: 1, F: nil},
	{Str: "ù", A: -1, B: 1, F: nil},
	{Str: "ú", A: -1, B: 1, F: nil},
	{Str: "û", A: -1, B: 1, F: nil},
	{Str: "ü", A: -1, B: 1, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "nde", A: -1, B: 8, F: nil},
	{Str: "en", A: -1, B: 7, F: nil},
	{Str: "s", A: -1, B: 2, F: nil},
	{Str: "'s", A: 2, B: 1, F: nil},
	{Str: "es", A: 2, B: 4, F: nil},
	{Str: "ies", A: 4, B: 3, F: nil},
	{Str: "aus", A: 2, B: 6, F: nil},
	{Str: "és", A: 2, B: 5, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "de", A: -1, B: 5, F: nil},
	{Str: "ge", A: -1, B: 2, F: nil},
	{Str: "ische", A: -1, B: 4, F: nil},
	{Str: "je", A: -1, B: 1, F: nil},
	{Str: "lijke", A: -1, B: 3, F: nil},
	{Str: "le", A: -1, B: 9, F: nil},
	{Str: "ene", A: -1, B: 10, F: nil},
	{Str: "re", A: -1, B: 8, F: nil},
	{Str: "se", A: -1, B: 7, F: nil},
	{Str: "te", A: -1, B: 6, F: nil},
	{Str: "ieve", A: -1, B: 11, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "heid", A: -1, B: 3, F: nil},
	{Str: "fie", A: -1, B: 7, F: nil},
	{Str: "gie", A: -1, B: 8, F: nil},
	{Str: "atie", A: -1, B: 1, F: nil},
	{Str: "isme", A: -1, B: 5, F: nil},
	{Str: "ing", A: -1, B: 5, F: nil},
	{Str: "arij", A: -1, B: 6, F: nil},
	{Str: "erij", A: -1, B: 5, F: nil},
	{Str: "sel", A: -1, B: 3, F: nil},
	{Str: "rder", A: -1, B: 4, F: nil},
	{Str: "ster", A: -1, B: 3, F: nil},
	{Str: "iteit", A: -1, B: 2, F: nil},
	{Str: "dst", A: -1, B: 10, F: nil},
	{Str: "tst", A: -1, B: 9, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "end", A: -1, B: 9, F: nil},
	{Str: "atief", A: -1, B: 2, F: nil},
	{Str: "erig", A: -1, B: 9, F: nil},
	{Str: "achtig", A: -1, B: 3, F: nil},
	{Str: "ioneel", A: -1, B: 1, F: nil},
	{Str: "baar", A: -1, B: 3, F: nil},
	{Str: "laar", A: -1, B: 5, F: nil},
	{Str: "naar", A: -1, B: 4, F: nil},
	{Str: "raar", A: -1, B: 6, F: nil},
	{Str: "eriger", A: -1, B: 9, F: nil},
	{Str: "achtiger", A: -1, B: 3, F: nil},
	{Str: "lijker", A: -1, B: 8, F: nil},
	{Str: "tant", A: -1, B: 7, F: nil},
	{Str: "erigst", A: -1, B: 9, F: nil},
	{Str: "achtigst", A: -1, B: 3, F: nil},
	{Str: "lijkst", A: -1, B: 8, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "ig", A: -1, B: 1, F: nil},
	{Str: "iger", A: -1, B: 1, F: nil},
	{Str: "igst", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "ft", A: -1, B: 2, F: nil},
	{Str: "kt", A: -1, B: 1, F: nil},
	{Str: "pt", A: -1, B: 3, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "bb", A: -1, B: 1, F: nil},
	{Str: "cc", A: -1, B: 2, F: nil},
	{Str: "dd", A: -1, B: 3, F: nil},
	{Str: "ff", A: -1, B: 4, F: nil},
	{Str: "gg", A: -1, B: 5, F: nil},
	{Str: "hh", A: -1, B: 6, F: nil},
	{Str: "jj", A: -1, B: 7, F: nil},
	{Str: "kk", A: -1, B: 8, F: nil},
	{Str: "ll", A: -1, B: 9, F: nil},
	{Str: "mm", A: -1, B: 10, F: nil},
	{Str: "nn", A: -1, B: 11, F: nil},
	{Str: "pp", A: -1, B: 12, F: nil},
	{Str: "qq", A: -1, B: 13, F: nil},
	{Str: "rr", A: -1, B: 14, F: nil},
	{Str: "ss", A: -1, B: 15, F: nil},
	{Str: "tt", A: -1, B: 16, F: nil},
	{Str: "v", A: -1, B: 4, F: nil},
	{Str: "vv", A: 16, B: 17, F: nil},
	{Str: "ww", A: -1, B: 18, F: nil},
	{Str: "xx", A: -1, B: 19, F: nil},
	{Str: "z", A: -1, B: 15, F: nil},
	{Str: "zz", A: 20, B: 20, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "d", A: -1, B: 1, F: nil},
	{Str: "t", A: -1, B: 2, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: -1, F: nil},
	{Str: "eft", A: 0, B: 1, F: nil},
	{Str: "vaa", A: 0, B: 1, F: nil},
	{Str: "val", A: 0, B: 1, F: nil},
	{Str: "vali", A: 3, B: -1, F: nil},
	{Str: "vare", A: 0, B: 1, F: nil},
}

var A_10 = []*snowballRuntime.Among{
	{Str: "ë", A: -1, B: 1, F: nil},
	{Str: "ï", A: -1, B: 2, F: nil},
}

var A_11 = []*snowballRuntime.Among{
	{Str: "ë", A: -1, B: 1, F: nil},
	{Str: "ï", A: -1, B: 2, F: nil},
}

var G_E = []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 120}

var G_AIOU = []byte{1, 65, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 11, 120, 46, 15}

var G_AEIOU = []byte{17, 65, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 139, 127, 46, 15}

var G_v = []byte{17, 65, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 139, 127, 46, 15}

var G_v_WX = []byte{17, 65, 208, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 139, 127, 46, 15}

type Context struct {
	i_p2 int
	i_p1 int
}

func r_V(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var v_1 = env.Limit - env.Cursor
lab0:
	for {
	lab1:
		for {
			if !env.InGroupingB(G_v, 97, 252) {
				break lab1
			}
			break lab0
		}
		if !env.EqSB("ij") {
			return false
		}
		break lab0
	}
	env.Cursor = env.Limit - v_1
	return true
}

func r_C(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var v_1 = env.Limit - env.Cursor
lab0:
	for {
		if !env.EqSB("ij") {
			break lab0
		}
		return false
	}
	if !env.OutGroupingB(G_v, 97, 252) {
		return false
	}
	env.Cursor = env.Limit - v_1
	return true
}

func r_lengthen_V(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var among_var int32
	var S_ch string
	var v_1 = env.Limit - env.Cursor
lab0:
	for {
		if !env.OutGroupingB(G_v_WX, 97, 252) {
			break lab0
		}
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_0, context)
		if among_var == 0 {
			break lab0
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			var v_2 = env.Limit - env.Cursor
		lab1:
			for {
			lab2:
				for {
					if !env.OutGroupingB(G_AEIOU, 97, 252) {
						break lab2
					}
					break lab1
				}
				if env.Cursor > env.LimitBackward {
					break lab0
				}
				break lab1
			}
			env.Cursor = env.Limit - v_2
			S_ch = env.SliceTo()
			{
				var c = env.Cursor
				bra, ket := env.Cursor, env.Cursor
				env.Insert(bra, ket, S_ch)
				env.Cursor = c
			}
		case 2:
			var v_3 = env.Limit - env.Cursor
		lab3:
			for {
			lab4:
				for {
					if !env.OutGroupingB(G_AEIOU, 97, 252) {
						break lab4
					}
					break lab3
				}
				if env.Cursor > env.LimitBackward {
					break lab0
				}
				break lab3
			}
			var v_4 = env.Limit - env.Cursor
		lab5:
			for {
			lab6:
				for {
				lab7:
					for {
						if !env.InGroupingB(G_AIOU, 97, 252) {
							break lab7
						}
						break lab6
					}
					if !env.InGroupingB(G_E, 101, 235) {
						break lab5
					}
					if env.Cursor > env.LimitBackward {
						break lab5
					}
					break lab6
				}
				break lab0
			}
			env.Cursor = env.Limit - v_4
			var v_5 = env.Limit - env.Cursor
		lab8:
			for {
				if env.Cursor <= env.LimitBackward {
					break lab8
				}
				env.PrevChar()
				if !env.InGroupingB(G_AIOU, 97, 252) {
					break lab8
				}
				if !env.OutGroupingB(G_AEIOU, 97, 252) {
					break lab8
				}
				break lab0
			}
			env.Cursor = env.Limit - v_5
			env.Cursor = env.Limit - v_3
			S_ch = env.SliceTo()
			{
				var c = env.Cursor
				bra, ket := env.Cursor, env.Cursor
				env.Insert(bra, ket, S_ch)
				env.Cursor = c
			}
		case 3:
			env.SliceFrom("eëe")
		case 4:
			env.SliceFrom("iee")
		}
		break lab0
	}
	env.Cursor = env.Limit - v_1
	return true
}

func r_Step_1c(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var among_var int32
	env.Ket = env.Cursor
	among_var = env.FindAmongB(A_8, context)
	if among_var == 0 {
		return false
	}
	env.Bra = env.Cursor
	if context.i_p1 > env.Cursor {
		return false
	}
	if !r_C(env, context) {
		return false
	}
	switch among_var {
	case 1:
		var v_1 = env.Limit - env.Cursor
	lab0:
		for {
			if !env.EqSB("n") {
				break lab0
			}
			if context.i_p1 > env.Cursor {
				break lab0
			}
			return false
		}
		env.Cursor = env.Limit - v_1
	lab1:
		for {
			var v_2 = env.Limit - env.Cursor
		lab2:
			for {
				if !env.EqSB("in") {
					break lab2
				}
				if env.Cursor > env.LimitBackward {
					break lab2
				}
				env.SliceFrom("n")
				break lab1
			}
			env.Cursor = env.Limit - v_2
			env.SliceDel()
			break lab1
		}
	case 2:
		var v_3 = env.Limit - env.Cursor
	lab3:
		for {
			if !env.EqSB("h") {
				break lab3
			}
			if context.i_p1 > env.Cursor {
				break lab3
			}
			return false
		}
		env.Cursor = env.Limit - v_3
		var v_4 = env.Limit - env.Cursor
	lab4:
		for {
			if !env.EqSB("en") {
				break lab4
			}
			if env.Cursor > env.LimitBackward {
				break lab4
			}
			return false
		}
		env.Cursor = env.Limit - v_4
		env.SliceDel()
	}
	return true
}

func r_measure(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	context.i_p1 = env.Limit
	context.i_p2 = env.Limit
	var v_1 = env.Cursor
lab0:
	for {
	replab1:
		for {
		lab2:
			for range [2]struct{}{} {
				if !env.OutGrouping(G_v, 97, 252) {
					break lab2
				}
				continue replab1
			}
			break replab1
		}
		var v_2 = 1
	replab3:
		for {
			var v_3 = env.Cursor
		lab4:
			for range [2]struct{}{} {
			lab5:
				for {
				lab6:
					for {
						if !env.EqS("ij") {
							break lab6
						}
						break lab5
					}
					if !env.InGrouping(G_v, 97, 252) {
						break lab4
					}
					break lab5
				}
				v_2--
				continue replab3
			}
			env.Cursor = v_3
			break replab3
		}
		if v_2 > 0 {
			break lab0
		}
		if !env.OutGrouping(G_v, 97, 252) {
			break lab0
		}
		context.i_p1 = env.Cursor
	replab7:
		for {
		lab8:
			for range [2]struct{}{} {
				if !env.OutGrouping(G_v, 97, 252) {
					break lab8
				}
				continue replab7
			}
			break replab7
		}
		var v_4 = 1
	replab9:
		for {
			var v_5 = env.Cursor
		lab10:
			for range [2]struct{}{} {
			lab11:
				for {
				lab12:
					for {
						if !env.EqS("ij") {
							break lab12
						}
						break lab11
					}
					if !env.InGrouping(G_v, 97, 252) {
						break lab10
					}
					break lab11
				}
				v_4--
				continue replab9
			}
			env.Cursor = v_5
			break replab9
		}
		if v_4 > 0 {
			break lab0
		}
		if !env.OutGrouping(G_v, 97, 252) {
			break lab0
		}
		context.i_p2 = env.Cursor
		break lab0
	}
	env.Cursor = v_1
	return true
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{
		i_p2: 0,
		i_p1: 0,
	}
	_ = context
	var among_var int32
	var b_GE_removed bool
	var b_stemmed bool
	b_stemmed = false
	r_measure(env, context)
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_1 = env.Limit - env.Cursor
lab0:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_1, context)
		if among_var == 0 {
			break lab0
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			env.SliceDel()
		case 2:
			if context.i_p1 > env.Cursor {
				break lab0
			}
			var v_2 = env.Limit - env.Cursor
		lab1:
			for {
				if !env.EqSB("t") {
					break lab1
				}
				if context.i_p1 > env.Cursor {
					break lab1
				}
				break lab0
			}
			env.Cursor = env.Limit - v_2
			if !r_C(env, context) {
				break lab0
			}
			env.SliceDel()
		case 3:
			if context.i_p1 > env.Cursor {
				break lab0
			}
			env.SliceFrom("ie")
		case 4:
		lab2:
			for {
				var v_3 = env.Limit - env.Cursor
			lab3:
				for {
					var v_4 = env.Limit - env.Cursor
					if !env.EqSB("ar") {
						break lab3
					}
					if context.i_p1 > env.Cursor {
						break lab3
					}
					if !r_C(env, context) {
						break lab3
					}
					env.Cursor = env.Limit - v_4
					env.SliceDel()
					r_lengthen_V(env, context)
					break lab2
				}
				env.Cursor = env.Limit - v_3
			lab4:
				for {
					var v_5 = env.Limit - env.Cursor
					if !env.EqSB("er") {
						break lab4
					}
					if context.i_p1 > env.Cursor {
						break lab4
					}
					if !r_C(env, context) {
						break lab4
					}
					env.Cursor = env.Limit - v_5
					env.SliceDel()
					break lab2
				}
				env.Cursor = env.Limit - v_3
				if context.i_p1 > env.Cursor {
					break lab0
				}
				if !r_C(env, context) {
					break lab0
				}
				env.SliceFrom("e")
				break lab2
			}
		case 5:
			if context.i_p1 > env.Cursor {
				break lab0
			}
			env.SliceFrom("é")
		case 6:
			if context.i_p1 > env.Cursor {
				break lab0
			}
			if !r_V(env, context) {
				break lab0
			}
			env.SliceFrom("au")
		case 7:
		lab5:
			for {
				var v_6 = env.Limit - env.Cursor
			lab6:
				for {
					if !env.EqSB("hed") {
						break lab6
					}
					if context.i_p1 > env.Cursor {
						break lab6
					}
					env.Bra = env.Cursor
					env.SliceFrom("heid")
					break lab5
				}
				env.Cursor = env.Limit - v_6
			lab7:
				for {
					if !env.EqSB("nd") {
						break lab7
					}
					env.SliceDel()
					break lab5
				}
				env.Cursor = env.Limit - v_6
			lab8:
				for {
					if !env.EqSB("d") {
						break lab8
					}
					if context.i_p1 > env.Cursor {
						break lab8
					}
					if !r_C(env, context) {
						break lab8
					}
					env.Bra = env.Cursor
					env.SliceDel()
					break lab5
				}
				env.Cursor = env.Limit - v_6
			lab9:
				for {
				lab10:
					for {
					lab11:
						for {
							if !env.EqSB("i") {
								break lab11
							}
							break lab10
						}
						if !env.EqSB("j") {
							break lab9
						}
						break lab10
					}
					if !r_V(env, context) {
						break lab9
					}
					env.SliceDel()
					break lab5
				}
				env.Cursor = env.Limit - v_6
				if context.i_p1 > env.Cursor {
					break lab0
				}
				if !r_C(env, context) {
					break lab0
				}
				env.SliceDel()
				r_lengthen_V(env, context)
				break lab5
			}
		case 8:
			env.SliceFrom("nd")
		}
		b_stemmed = true
		break lab0
	}
	env.Cursor = env.Limit - v_1
	var v_7 = env.Limit - env.Cursor
lab12:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_2, context)
		if among_var == 0 {
			break lab12
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
		lab13:
			for {
				var v_8 = env.Limit - env.Cursor
			lab14:
				for {
					if !env.EqSB("'t") {
						break lab14
					}
					env.Bra = env.Cursor
					env.SliceDel()
					break lab13
				}
				env.Cursor = env.Limit - v_8
			lab15:
				for {
					if !env.EqSB("et") {
						break lab15
					}
					env.Bra = env.Cursor
					if context.i_p1 > env.Cursor {
						break lab15
					}
					if !r_C(env, context) {
						break lab15
					}
					env.SliceDel()
					break lab13
				}
				env.Cursor = env.Limit - v_8
			lab16:
				for {
					if !env.EqSB("rnt") {
						break lab16
					}
					env.Bra = env.Cursor
					env.SliceFrom("rn")
					break lab13
				}
				env.Cursor = env.Limit - v_8
			lab17:
				for {
					if !env.EqSB("t") {
						break lab17
					}
					env.Bra = env.Cursor
					if context.i_p1 > env.Cursor {
						break lab17
					}
					var v_9 = env.Limit - env.Cursor
					if env.Cursor <= env.LimitBackward {
						break lab17
					}
					env.PrevChar()
				lab18:
					for {
					lab19:
						for {
							if !env.InGroupingB(G_v, 97, 252) {
								break lab19
							}
							break lab18
						}
						if !env.EqSB("ij") {
							break lab17
						}
						break lab18
					}
					env.Cursor = env.Limit - v_9
					env.SliceDel()
					break lab13
				}
				env.Cursor = env.Limit - v_8
			lab20:
				for {
					if !env.EqSB("ink") {
						break lab20
					}
					env.Bra = env.Cursor
					env.SliceFrom("ing")
					break lab13
				}
				env.Cursor = env.Limit - v_8
			lab21:
				for {
					if !env.EqSB("mp") {
						break lab21
					}
					env.Bra = env.Cursor
					env.SliceFrom("m")
					break lab13
				}
				env.Cursor = env.Limit - v_8
			lab22:
				for {
					if !env.EqSB("'") {
						break lab22
					}
					env.Bra = env.Cursor
					if context.i_p1 > env.Cursor {
						break lab22
					}
					env.SliceDel()
					break lab13
				}
				env.Cursor = env.Limit - v_8
				env.Bra = env.Cursor
				if context.i_p1 > env.Cursor {
					break lab12
				}
				if !r_C(env, context) {
					break lab12
				}
				env.SliceDel()
				break lab13
			}
		case 2:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			env.SliceFrom("g")
		case 3:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			env.SliceFrom("lijk")
		case 4:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			env.SliceFrom("isch")
		case 5:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			if !r_C(env, context) {
				break lab12
			}
			env.SliceDel()
		case 6:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			env.SliceFrom("t")
		case 7:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			env.SliceFrom("s")
		case 8:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			env.SliceFrom("r")
		case 9:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			env.SliceDel()
			{
				bra, ket := env.Cursor, env.Cursor
				env.Insert(bra, ket, "l")
			}
			r_lengthen_V(env, context)
		case 10:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			if !r_C(env, context) {
				break lab12
			}
			env.SliceDel()
			{
				bra, ket := env.Cursor, env.Cursor
				env.Insert(bra, ket, "en")
			}
			r_lengthen_V(env, context)
		case 11:
			if context.i_p1 > env.Cursor {
				break lab12
			}
			if !r_C(env, context) {
				break lab12
			}
			env.SliceFrom("ief")
		}
		b_stemmed = true
		break lab12
	}
	env.Cursor = env.Limit - v_7
	var v_10 = env.Limit - env.Cursor
lab23:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_3, context)
		if among_var == 0 {
			break lab23
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			if context.i_p1 > env.Cursor {
				break lab23
			}
			env.SliceFrom("eer")
		case 2:
			if context.i_p1 > env.Cursor {
				break lab23
			}
			env.SliceDel()
			r_lengthen_V(env, context)
		case 3:
			if context.i_p1 > env.Cursor {
				break lab23
			}
			env.SliceDel()
		case 4:
			env.SliceFrom("r")
		case 5:
		lab24:
			for {
				var v_11 = env.Limit - env.Cursor
			lab25:
				for {
					if !env.EqSB("ild") {
						break lab25
					}
					env.SliceFrom("er")
					break lab24
				}
				env.Cursor = env.Limit - v_11
				if context.i_p1 > env.Cursor {
					break lab23
				}
				env.SliceDel()
				r_lengthen_V(env, context)
				break lab24
			}
		case 6:
			if context.i_p1 > env.Cursor {
				break lab23
			}
			if !r_C(env, context) {
				break lab23
			}
			env.SliceFrom("aar")
		case 7:
			if context.i_p2 > env.Cursor {
				break lab23
			}
			env.SliceDel()
			{
				bra, ket := env.Cursor, env.Cursor
				env.Insert(bra, ket, "f")
			}
			r_lengthen_V(env, context)
		case 8:
			if context.i_p2 > env.Cursor {
				break lab23
			}
			env.SliceDel()
			{
				bra, ket := env.Cursor, env.Cursor
				env.Insert(bra, ket, "g")
			}
			r_lengthen_V(env, context)
		case 9:
			if context.i_p1 > env.Cursor {
				break lab23
			}
			if !r_C(env, context) {
				break lab23
			}
			env.SliceFrom("t")
		case 10:
			if context.i_p1 > env.Cursor {
				break lab23
			}
			if !r_C(env, context) {
				break lab23
			}
			env.SliceFrom("d")
		}
		b_stemmed = true
		break lab23
	}
	env.Cursor = env.Limit - v_10
	var v_12 = env.Limit - env.Cursor
lab26:
	for {
	lab27:
		for {
			var v_13 = env.Limit - env.Cursor
		lab28:
			for {
				env.Ket = env.Cursor
				among_var = env.FindAmongB(A_4, context)
				if among_var == 0 {
					break lab28
				}
				env.Bra = env.Cursor
				switch among_var {
				case 1:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					env.SliceFrom("ie")
				case 2:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					env.SliceFrom("eer")
				case 3:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					env.SliceDel()
				case 4:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					if !r_V(env, context) {
						break lab28
					}
					env.SliceFrom("n")
				case 5:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					if !r_V(env, context) {
						break lab28
					}
					env.SliceFrom("l")
				case 6:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					if !r_V(env, context) {
						break lab28
					}
					env.SliceFrom("r")
				case 7:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					env.SliceFrom("teer")
				case 8:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					env.SliceFrom("lijk")
				case 9:
					if context.i_p1 > env.Cursor {
						break lab28
					}
					if !r_C(env, context) {
						break lab28
					}
					env.SliceDel()
					r_lengthen_V(env, context)
				}
				break lab27
			}
			env.Cursor = env.Limit - v_13
			env.Ket = env.Cursor
			if env.FindAmongB(A_5, context) == 0 {
				break lab26
			}
			env.Bra = env.Cursor
			if context.i_p1 > env.Cursor {
				break lab26
			}
			var v_14 = env.Limit - env.Cursor
		lab29:
			for {
				if !env.EqSB("inn") {
					break lab29
				}
				if env.Cursor > env.LimitBackward {
					break lab29
				}
				break lab26
			}
			env.Cursor = env.Limit - v_14
			if !r_C(env, context) {
				break lab26
			}
			env.SliceDel()
			r_lengthen_V(env, context)
			break lab27
		}
		b_stemmed = true
		break lab26
	}
	env.Cursor = env.Limit - v_12
	env.Cursor = env.LimitBackward
	b_GE_removed = false
	var v_15 = env.Cursor
lab30:
	for {
		var v_16 = env.Cursor
		env.Bra = env.Cursor
		if !env.EqS("ge") {
			break lab30
		}
		env.Ket = env.Cursor
		var v_17 = env.Cursor
		if !env.Hop(3) {
			break lab30
		}
		env.Cursor = v_17
		var v_18 = env.Cursor
	golab31:
		for {
			var v_19 = env.Cursor
		lab32:
			for {
			lab33:
				for {
				lab34:
					for {
						if !env.EqS("ij") {
							break lab34
						}
						break lab33
					}
					if !env.InGrouping(G_v, 97, 252) {
						break lab32
					}
					break lab33
				}
				break golab31
			}
			env.Cursor = v_19
			if env.Cursor >= env.Limit {
				break lab30
			}
			env.NextChar()
		}
	replab35:
		for {
			var v_20 = env.Cursor
		lab36:
			for range [2]struct{}{} {
			lab37:
				for {
				lab38:
					for {
						if !env.EqS("ij") {
							break lab38
						}
						break lab37
					}
					if !env.InGrouping(G_v, 97, 252) {
						break lab36
					}
					break lab37
				}
				continue replab35
			}
			env.Cursor = v_20
			break replab35
		}
		if env.Cursor >= env.Limit {
			break lab30
		}
		env.Cursor = v_18
		among_var = env.FindAmong(A_9, context)
		switch among_var {
		case 1:
			break lab30
		}
		b_GE_removed = true
		env.SliceDel()
		var v_21 = env.Cursor
	lab39:
		for {
			env.Bra = env.Cursor
			among_var = env.FindAmong(A_10, context)
			if among_var == 0 {
				break lab39
			}
			env.Ket = env.Cursor
			switch among_var {
			case 1:
				env.SliceFrom("e")
			case 2:
				env.SliceFrom("i")
			}
			break lab39
		}
		env.Cursor = v_21
		env.Cursor = v_16
		r_measure(env, context)
		break lab30
	}
	env.Cursor = v_15
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_22 = env.Limit - env.Cursor
lab40:
	for {
		if !b_GE_removed {
			break lab40
		}
		b_stemmed = true
		if !r_Step_1c(env, context) {
			break lab40
		}
		break lab40
	}
	env.Cursor = env.Limit - v_22
	env.Cursor = env.LimitBackward
	b_GE_removed = false
	var v_23 = env.Cursor
lab41:
	for {
		var v_24 = env.Cursor
		if env.Cursor >= env.Limit {
			break lab41
		}
		env.NextChar()
	golab42:
		for {
		lab43:
			for {
				env.Bra = env.Cursor
				if !env.EqS("ge") {
					break lab43
				}
				env.Ket = env.Cursor
				break golab42
			}
			if env.Cursor >= env.Limit {
				break lab41
			}
			env.NextChar()
		}
		var v_25 = env.Cursor
		if !env.Hop(3) {
			break lab41
		}
		env.Cursor = v_25
		var v_26 = env.Cursor
	golab44:
		for {
			var v_27 = env.Cursor
		lab45:
			for {
			lab46:
				for {
				lab47:
					for {
						if !env.EqS("ij") {
							break lab47
						}
						break lab46
					}
					if !env.InGrouping(G_v, 97, 252) {
						break lab45
					}
					break lab46
				}
				break golab44
			}
			env.Cursor = v_27
			if env.Cursor >= env.Limit {
				break lab41
			}
			env.NextChar()
		}
	replab48:
		for {
			var v_28 = env.Cursor
		lab49:
			for range [2]struct{}{} {
			lab50:
				for {
				lab51:
					for {
						if !env.EqS("ij") {
							break lab51
						}
						break lab50
					}
					if !env.InGrouping(G_v, 97, 252) {
						break lab49
					}
					break lab50
				}
				continue replab48
			}
			env.Cursor = v_28
			break replab48
		}
		if env.Cursor >= env.Limit {
			break lab41
		}
		env.Cursor = v_26
		b_GE_removed = true
		env.SliceDel()
		var v_29 = env.Cursor
	lab52:
		for {
			env.Bra = env.Cursor
			among_var = env.FindAmong(A_11, context)
			if among_var == 0 {
				break lab52
			}
			env.Ket = env.Cursor
			switch among_var {
			case 1:
				env.SliceFrom("e")
			case 2:
				env.SliceFrom("i")
			}
			break lab52
		}
		env.Cursor = v_29
		env.Cursor = v_24
		r_measure(env, context)
		break lab41
	}
	env.Cursor = v_23
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_30 = env.Limit - env.Cursor
lab53:
	for {
		if !b_GE_removed {
			break lab53
		}
		b_stemmed = true
		if !r_Step_1c(env, context) {
			break lab53
		}
		break lab53
	}
	env.Cursor = env.Limit - v_30
	env.Cursor = env.LimitBackward
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_31 = env.Limit - env.Cursor
lab54:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_6, context)
		if among_var == 0 {
			break lab54
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			env.SliceFrom("k")
		case 2:
			env.SliceFrom("f")
		case 3:
			env.SliceFrom("p")
		}
		b_stemmed = true
		break lab54
	}
	env.Cursor = env.Limit - v_31
	var v_32 = env.Limit - env.Cursor
lab55:
	for {
		if !b_stemmed {
			break lab55
		}
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_7, context)
		if among_var == 0 {
			break lab55
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			env.SliceFrom("b")
		case 2:
			env.SliceFrom("c")
		case 3:
			env.SliceFrom("d")
		case 4:
			env.SliceFrom("f")
		case 5:
			env.SliceFrom("g")
		case 6:
			env.SliceFrom("h")
		case 7:
			env.SliceFrom("j")
		case 8:
			env.SliceFrom("k")
		case 9:
			env.SliceFrom("l")
		case 10:
			env.SliceFrom("m")
		case 11:
			var v_33 = env.Limit - env.Cursor
		lab56:
			for {
				if !env.EqSB("i") {
					break lab56
				}
				if env.Cursor > env.LimitBackward {
					break lab56
				}
				break lab55
			}
			env.Cursor = env.Limit - v_33
			env.SliceFrom("n")
		case 12:
			env.SliceFrom("p")
		case 13:
			env.SliceFrom("q")
		case 14:
			env.SliceFrom("r")
		case 15:
			env.SliceFrom("s")
		case 16:
			env.SliceFrom("t")
		case 17:
			env.SliceFrom("v")
		case 18:
			env.SliceFrom("w")
		case 19:
			env.SliceFrom("x")
		case 20:
			env.SliceFrom("z")
		}
		break lab55
	}
	env.Cursor = env.Limit - v_32
	env.Cursor = env.LimitBackward
	return true
}
