// Code generated from algorithms/hungarian.sbl by the Snowball compiler; DO NOT EDIT.

// Package hungarian finds the stems of words; see the package snowball.
package hungarian

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "á", A: -1, B: 1, F: nil},
	{Str: "é", A: -1, B: 2, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "bb", A: -1, B: -1, F: nil},
	{Str: "cc", A: -1, B: -1, F: nil},
	{Str: "dd", A: -1, B: -1, F: nil},
	{Str: "ff", A: -1, B: -1, F: nil},
	{Str: "gg", A: -1, B: -1, F: nil},
	{Str: "jj", A: -1, B: -1, F: nil},
	{Str: "kk", A: -1, B: -1, F: nil},
	{Str: "ll", A: -1, B: -1, F: nil},
	{Str: "mm", A: -1, B: -1, F: nil},
	{Str: "nn", A: -1, B: -1, F: nil},
	{Str: "pp", A: -1, B: -1, F: nil},
	{Str: "rr", A: -1, B: -1, F: nil},
	{Str: "ccs", A: -1, B: -1, F: nil},
	{Str: "ss", A: -1, B: -1, F: nil},
	{Str: "zzs", A: -1, B: -1, F: nil},
	{Str: "tt", A: -1, B: -1, F: nil},
	{Str: "vv", A: -1, B: -1, F: nil},
	{Str: "ggy", A: -1, B: -1, F: nil},
	{Str: "lly", A: -1, B: -1, F: nil},
	{Str: "nny", A: -1, B: -1, F: nil},
	{Str: "tty", A: -1, B: -1, F: nil},
	{Str: "ssz", A: -1, B: -1, F: nil},
	{Str: "zz", A: -1, B: -1, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "al", A: -1, B: 1, F: nil},
	{Str: "el", A: -1, B: 1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "ba", A: -1, B: -1, F: nil},
	{Str: "ra", A: -1, B: -1, F: nil},
	{Str: "be", A: -1, B: -1, F: nil},
	{Str: "re", A: -1, B: -1, F: nil},
	{Str: "ig", A: -1, B: -1, F: nil},
	{Str: "nak", A: -1, B: -1, F: nil},
	{Str: "nek", A: -1, B: -1, F: nil},
	{Str: "val", A: -1, B: -1, F: nil},
	{Str: "vel", A: -1, B: -1, F: nil},
	{Str: "ul", A: -1, B: -1, F: nil},
	{Str: "ből", A: -1, B: -1, F: nil},
	{Str: "ről", A: -1, B: -1, F: nil},
	{Str: "től", A: -1, B: -1, F: nil},
	{Str: "nál", A: -1, B: -1, F: nil},
	{Str: "nél", A: -1, B: -1, F: nil},
	{Str: "ból", A: -1, B: -1, F: nil},
	{Str: "ról", A: -1, B: -1, F: nil},
	{Str: "tól", A: -1, B: -1, F: nil},
	{Str: "ül", A: -1, B: -1, F: nil},
	{Str: "n", A: -1, B: -1, F: nil},
	{Str: "an", A: 19, B: -1, F: nil},
	{Str: "ban", A: 20, B: -1, F: nil},
	{Str: "en", A: 19, B: -1, F: nil},
	{Str: "ben", A: 22, B: -1, F: nil},
	{Str: "képpen", A: 22, B: -1, F: nil},
	{Str: "on", A: 19, B: -1, F: nil},
	{Str: "ön", A: 19, B: -1, F: nil},
	{Str: "képp", A: -1, B: -1, F: nil},
	{Str: "kor", A: -1, B: -1, F: nil},
	{Str: "t", A: -1, B: -1, F: nil},
	{Str: "at", A: 29, B: -1, F: nil},
	{Str: "et", A: 29, B: -1, F: nil},
	{Str: "ként", A: 29, B: -1, F: nil},
	{Str: "anként", A: 32, B: -1, F: nil},
	{Str: "enként", A: 32, B: -1, F: nil},
	{Str: "onként", A: 32, B: -1, F: nil},
	{Str: "ot", A: 29, B: -1, F: nil},
	{Str: "ért", A: 29, B: -1, F: nil},
	{Str: "öt", A: 29, B: -1, F: nil},
	{Str: "hez", A: -1, B: -1, F: nil},
	{Str: "hoz", A: -1, B: -1, F: nil},
	{Str: "höz", A: -1, B: -1, F: nil},
	{Str: "vá", A: -1, B: -1, F: nil},
	{Str: "vé", A: -1, B: -1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "án", A: -1, B: 2, F: nil},
	{Str: "én", A: -1, B: 1, F: nil},
	{Str: "ánként", A: -1, B: 2, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "stul", A: -1, B: 1, F: nil},
	{Str: "astul", A: 0, B: 1, F: nil},
	{Str: "ástul", A: 0, B: 2, F: nil},
	{Str: "stül", A: -1, B: 1, F: nil},
	{Str: "estül", A: 3, B: 1, F: nil},
	{Str: "éstül", A: 3, B: 3, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "á", A: -1, B: 1, F: nil},
	{Str: "é", A: -1, B: 1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "k", A: -1, B: 3, F: nil},
	{Str: "ak", A: 0, B: 3, F: nil},
	{Str: "ek", A: 0, B: 3, F: nil},
	{Str: "ok", A: 0, B: 3, F: nil},
	{Str: "ák", A: 0, B: 1, F: nil},
	{Str: "ék", A: 0, B: 2, F: nil},
	{Str: "ök", A: 0, B: 3, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "éi", A: -1, B: 1, F: nil},
	{Str: "áéi", A: 0, B: 3, F: nil},
	{Str: "ééi", A: 0, B: 2, F: nil},
	{Str: "é", A: -1, B: 1, F: nil},
	{Str: "ké", A: 3, B: 1, F: nil},
	{Str: "aké", A: 4, B: 1, F: nil},
	{Str: "eké", A: 4, B: 1, F: nil},
	{Str: "oké", A: 4, B: 1, F: nil},
	{Str: "áké", A: 4, B: 3, F: nil},
	{Str: "éké", A: 4, B: 2, F: nil},
	{Str: "öké", A: 4, B: 1, F: nil},
	{Str: "éé", A: 3, B: 2, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "a", A: -1, B: 1, F: nil},
	{Str: "ja", A: 0, B: 1, F: nil},
	{Str: "d", A: -1, B: 1, F: nil},
	{Str: "ad", A: 2, B: 1, F: nil},
	{Str: "ed", A: 2, B: 1, F: nil},
	{Str: "od", A: 2, B: 1, F: nil},
	{Str: "ád", A: 2, B: 2, F: nil},
	{Str: "éd", A: 2, B: 3, F: nil},
	{Str: "öd", A: 2, B: 1, F: nil},
	{Str: "e", A: -1, B: 1, F: nil},
	{Str: "je", A: 9, B: 1, F: nil},
	{Str: "nk", A: -1, B: 1, F: nil},
	{Str: "unk", A: 11, B: 1, F: nil},
	{Str: "ánk", A: 11, B: 2, F: nil},
	{Str: "énk", A: 11, B: 3, F: nil},
	{Str: "ünk", A: 11, B: 1, F: nil},
	{Str: "uk", A: -1, B: 1, F: nil},
	{Str: "juk", A: 16, B: 1, F: nil},
	{Str: "ájuk", A: 17, B: 2, F: nil},
	{Str: "ük", A: -1, B: 1, F: nil},
	{Str: "jük", A: 19, B: 1, F: nil},
	{Str: "éjük", A: 20, B: 3, F: nil},
	{Str: "m", A: -1, B: 1, F: nil},
	{Str: "am", A: 22, B: 1, F: nil},
	{Str: "em", A: 22, B: 1, F: nil},
	{Str: "om", A: 22, B: 1, F: nil},
	{Str: "ám", A: 22, B: 2, F: nil},
	{Str: "ém", A: 22, B: 3, F: nil},
	{Str: "o", A: -1, B: 1, F: nil},
	{Str: "á", A: -1, B: 2, F: nil},
	{Str: "é", A: -1, B: 3, F: nil},
}

var A_10 = []*snowballRuntime.Among{
	{Str: "id", A: -1, B: 1, F: nil},
	{Str: "aid", A: 0, B: 1, F: nil},
	{Str: "jaid", A: 1, B: 1, F: nil},
	{Str: "eid", A: 0, B: 1, F: nil},
	{Str: "jeid", A: 3, B: 1, F: nil},
	{Str: "áid", A: 0, B: 2, F: nil},
	{Str: "éid", A: 0, B: 3, F: nil},
	{Str: "i", A: -1, B: 1, F: nil},
	{Str: "ai", A: 7, B: 1, F: nil},
	{Str: "jai", A: 8, B: 1, F: nil},
	{Str: "ei", A: 7, B: 1, F: nil},
	{Str: "jei", A: 10, B: 1, F: nil},
	{Str: "ái", A: 7, B: 2, F: nil},
	{Str: "éi", A: 7, B: 3, F: nil},
	{Str: "itek", A: -1, B: 1, F: nil},
	{Str: "eitek", A: 14, B: 1, F: nil},
	{Str: "jeitek", A: 15, B: 1, F: nil},
	{Str: "éitek", A: 14, B: 3, F: nil},
	{Str: "ik", A: -1, B: 1, F: nil},
	{Str: "aik", A: 18, B: 1, F: nil},
	{Str: "jaik", A: 19, B: 1, F: nil},
	{Str: "eik", A: 18, B: 1, F: nil},
	{Str: "jeik", A: 21, B: 1, F: nil},
	{Str: "áik", A: 18, B: 2, F: nil},
	{Str: "éik", A: 18, B: 3, F: nil},
	{Str: "ink", A: -1, B: 1, F: nil},
	{Str: "aink", A: 25, B: 1, F: nil},
	{Str: "jaink", A: 26, B: 1, F: nil},
	{Str: "eink", A: 25, B: 1, F: nil},
	{Str: "jeink", A: 28, B: 1, F: nil},
	{Str: "áink", A: 25, B: 2, F: nil},
	{Str: "éink", A: 25, B: 3, F: nil},
	{Str: "aitok", A: -1, B: 1, F: nil},
	{Str: "jaitok", A: 32, B: 1, F: nil},
	{Str: "áitok", A: -1, B: 2, F: nil},
	{Str: "im", A: -1, B: 1, F: nil},
	{Str: "aim", A: 35, B: 1, F: nil},
	{Str: "jaim", A: 36, B: 1, F: nil},
	{Str: "eim", A: 35, B: 1, F: nil},
	{Str: "jeim", A: 38, B: 1, F: nil},
	{Str: "áim", A: 35, B: 2, F: nil},
	{Str: "éim", A: 35, B: 3, F: nil},
}

var G_v = []byte{17, 65, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 17, 36, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}

type Context struct {
}

func r_double(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var v_1 = env.Limit - env.Cursor
	if env.FindAmongB(A_1, context) == 0 {
		return false
	}
	env.Cursor = env.Limit - v_1
	return true
}

func r_undouble(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if env.Cursor <= env.LimitBackward {
		return false
	}
	env.PrevChar()
	env.Ket = env.Cursor
	if env.Cursor <= env.LimitBackward {
		return false
	}
	env.PrevChar()
	env.Bra = env.Cursor
	env.SliceDel()
	return true
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var i_p1 int
	var v_1 = env.Cursor
lab0:
	for {
		i_p1 = env.Limit
	lab1:
		for {
			var v_2 = env.Cursor
		lab2:
			for {
				if !env.InGrouping(G_v, 97, 369) {
					break lab2
				}
				var v_3 = env.Cursor
			lab3:
				for {
					if !env.GoInGrouping(G_v, 97, 369) {
						break lab3
					}
					env.NextChar()
					i_p1 = env.Cursor
					break lab3
				}
				env.Cursor = v_3
				break lab1
			}
			env.Cursor = v_2
			if !env.GoOutGrouping(G_v, 97, 369) {
				break lab0
			}
			env.NextChar()
			i_p1 = env.Cursor
			break lab1
		}
		break lab0
	}
	env.Cursor = v_1
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_4 = env.Limit - env.Cursor
lab4:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_2, context) == 0 {
			break lab4
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab4
		}
		if !r_double(env, context) {
			break lab4
		}
		env.SliceDel()
		if !r_undouble(env, context) {
			break lab4
		}
		break lab4
	}
	env.Cursor = env.Limit - v_4
	var v_5 = env.Limit - env.Cursor
lab5:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_3, context) == 0 {
			break lab5
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab5
		}
		env.SliceDel()
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_0, context)
		if among_var == 0 {
			break lab5
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab5
		}
		switch among_var {
		case 1:
			env.SliceFrom("a")
		case 2:
			env.SliceFrom("e")
		}
		break lab5
	}
	env.Cursor = env.Limit - v_5
	var v_6 = env.Limit - env.Cursor
lab6:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_4, context)
		if among_var == 0 {
			break lab6
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab6
		}
		switch among_var {
		case 1:
			env.SliceFrom("e")
		case 2:
			env.SliceFrom("a")
		}
		break lab6
	}
	env.Cursor = env.Limit - v_6
	var v_7 = env.Limit - env.Cursor
lab7:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_5, context)
		if among_var == 0 {
			break lab7
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab7
		}
		switch among_var {
		case 1:
			env.SliceDel()
		case 2:
			env.SliceFrom("a")
		case 3:
			env.SliceFrom("e")
		}
		break lab7
	}
	env.Cursor = env.Limit - v_7
	var v_8 = env.Limit - env.Cursor
lab8:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_6, context) == 0 {
			break lab8
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab8
		}
		if !r_double(env, context) {
			break lab8
		}
		env.SliceDel()
		if !r_undouble(env, context) {
			break lab8
		}
		break lab8
	}
	env.Cursor = env.Limit - v_8
	var v_9 = env.Limit - env.Cursor
lab9:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_8, context)
		if among_var == 0 {
			break lab9
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab9
		}
		switch among_var {
		case 1:
			env.SliceDel()
		case 2:
			env.SliceFrom("e")
		case 3:
			env.SliceFrom("a")
		}
		break lab9
	}
	env.Cursor = env.Limit - v_9
	var v_10 = env.Limit - env.Cursor
lab10:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_9, context)
		if among_var == 0 {
			break lab10
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab10
		}
		switch among_var {
		case 1:
			env.SliceDel()
		case 2:
			env.SliceFrom("a")
		case 3:
			env.SliceFrom("e")
		}
		break lab10
	}
	env.Cursor = env.Limit - v_10
	var v_11 = env.Limit - env.Cursor
lab11:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_10, context)
		if among_var == 0 {
			break lab11
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab11
		}
		switch among_var {
		case 1:
			env.SliceDel()
		case 2:
			env.SliceFrom("a")
		case 3:
			env.SliceFrom("e")
		}
		break lab11
	}
	env.Cursor = env.Limit - v_11
	var v_12 = env.Limit - env.Cursor
lab12:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_7, context)
		if among_var == 0 {
			break lab12
		}
		env.Bra = env.Cursor
		if i_p1 > env.Cursor {
			break lab12
		}
		switch among_var {
		case 1:
			env.SliceFrom("a")
		case 2:
			env.SliceFrom("e")
		case 3:
			env.SliceDel()
		}
		break lab12
	}
	env.Cursor = env.Limit - v_12
	env.Cursor = env.LimitBackward
	return true
}
