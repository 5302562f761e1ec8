// Code generated from algorithms/turkish.sbl by the Snowball compiler; DO NOT EDIT.

// Package turkish finds the stems of words; see the package snowball.
package turkish

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "m", A: -1, B: -1, F: nil},
	{Str: "n", A: -1, B: -1, F: nil},
	{Str: "miz", A: -1, B: -1, F: nil},
	{Str: "niz", A: -1, B: -1, F: nil},
	{Str: "muz", A: -1, B: -1, F: nil},
	{Str: "nuz", A: -1, B: -1, F: nil},
	{Str: "mız", A: -1, B: -1, F: nil},
	{Str: "nız", A: -1, B: -1, F: nil},
	{Str: "müz", A: -1, B: -1, F: nil},
	{Str: "nüz", A: -1, B: -1, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "leri", A: -1, B: -1, F: nil},
	{Str: "ları", A: -1, B: -1, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "ni", A: -1, B: -1, F: nil},
	{Str: "nu", A: -1, B: -1, F: nil},
	{Str: "nı", A: -1, B: -1, F: nil},
	{Str: "nü", A: -1, B: -1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "in", A: -1, B: -1, F: nil},
	{Str: "un", A: -1, B: -1, F: nil},
	{Str: "ın", A: -1, B: -1, F: nil},
	{Str: "ün", A: -1, B: -1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "a", A: -1, B: -1, F: nil},
	{Str: "e", A: -1, B: -1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "na", A: -1, B: -1, F: nil},
	{Str: "ne", A: -1, B: -1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "da", A: -1, B: -1, F: nil},
	{Str: "ta", A: -1, B: -1, F: nil},
	{Str: "de", A: -1, B: -1, F: nil},
	{Str: "te", A: -1, B: -1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "nda", A: -1, B: -1, F: nil},
	{Str: "nde", A: -1, B: -1, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "dan", A: -1, B: -1, F: nil},
	{Str: "tan", A: -1, B: -1, F: nil},
	{Str: "den", A: -1, B: -1, F: nil},
	{Str: "ten", A: -1, B: -1, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "ndan", A: -1, B: -1, F: nil},
	{Str: "nden", A: -1, B: -1, F: nil},
}

var A_10 = []*snowballRuntime.Among{
	{Str: "la", A: -1, B: -1, F: nil},
	{Str: "le", A: -1, B: -1, F: nil},
}

var A_11 = []*snowballRuntime.Among{
	{Str: "ca", A: -1, B: -1, F: nil},
	{Str: "ce", A: -1, B: -1, F: nil},
}

var A_12 = []*snowballRuntime.Among{
	{Str: "im", A: -1, B: -1, F: nil},
	{Str: "um", A: -1, B: -1, F: nil},
	{Str: "ım", A: -1, B: -1, F: nil},
	{Str: "üm", A: -1, B: -1, F: nil},
}

var A_13 = []*snowballRuntime.Among{
	{Str: "sin", A: -1, B: -1, F: nil},
	{Str: "sun", A: -1, B: -1, F: nil},
	{Str: "sın", A: -1, B: -1, F: nil},
	{Str: "sün", A: -1, B: -1, F: nil},
}

var A_14 = []*snowballRuntime.Among{
	{Str: "iz", A: -1, B: -1, F: nil},
	{Str: "uz", A: -1, B: -1, F: nil},
	{Str: "ız", A: -1, B: -1, F: nil},
	{Str: "üz", A: -1, B: -1, F: nil},
}

var A_15 = []*snowballRuntime.Among{
	{Str: "siniz", A: -1, B: -1, F: nil},
	{Str: "sunuz", A: -1, B: -1, F: nil},
	{Str: "sınız", A: -1, B: -1, F: nil},
	{Str: "sünüz", A: -1, B: -1, F: nil},
}

var A_16 = []*snowballRuntime.Among{
	{Str: "lar", A: -1, B: -1, F: nil},
	{Str: "ler", A: -1, B: -1, F: nil},
}

var A_17 = []*snowballRuntime.Among{
	{Str: "niz", A: -1, B: -1, F: nil},
	{Str: "nuz", A: -1, B: -1, F: nil},
	{Str: "nız", A: -1, B: -1, F: nil},
	{Str: "nüz", A: -1, B: -1, F: nil},
}

var A_18 = []*snowballRuntime.Among{
	{Str: "dir", A: -1, B: -1, F: nil},
	{Str: "tir", A: -1, B: -1, F: nil},
	{Str: "dur", A: -1, B: -1, F: nil},
	{Str: "tur", A: -1, B: -1, F: nil},
	{Str: "dır", A: -1, B: -1, F: nil},
	{Str: "tır", A: -1, B: -1, F: nil},
	{Str: "dür", A: -1, B: -1, F: nil},
	{Str: "tür", A: -1, B: -1, F: nil},
}

var A_19 = []*snowballRuntime.Among{
	{Str: "casına", A: -1, B: -1, F: nil},
	{Str: "cesine", A: -1, B: -1, F: nil},
}

var A_20 = []*snowballRuntime.Among{
	{Str: "di", A: -1, B: -1, F: nil},
	{Str: "ti", A: -1, B: -1, F: nil},
	{Str: "dik", A: -1, B: -1, F: nil},
	{Str: "tik", A: -1, B: -1, F: nil},
	{Str: "duk", A: -1, B: -1, F: nil},
	{Str: "tuk", A: -1, B: -1, F: nil},
	{Str: "dık", A: -1, B: -1, F: nil},
	{Str: "tık", A: -1, B: -1, F: nil},
	{Str: "dük", A: -1, B: -1, F: nil},
	{Str: "tük", A: -1, B: -1, F: nil},
	{Str: "dim", A: -1, B: -1, F: nil},
	{Str: "tim", A: -1, B: -1, F: nil},
	{Str: "dum", A: -1, B: -1, F: nil},
	{Str: "tum", A: -1, B: -1, F: nil},
	{Str: "dım", A: -1, B: -1, F: nil},
	{Str: "tım", A: -1, B: -1, F: nil},
	{Str: "düm", A: -1, B: -1, F: nil},
	{Str: "tüm", A: -1, B: -1, F: nil},
	{Str: "din", A: -1, B: -1, F: nil},
	{Str: "tin", A: -1, B: -1, F: nil},
	{Str: "dun", A: -1, B: -1, F: nil},
	{Str: "tun", A: -1, B: -1, F: nil},
	{Str: "dın", A: -1, B: -1, F: nil},
	{Str: "tın", A: -1, B: -1, F: nil},
	{Str: "dün", A: -1, B: -1, F: nil},
	{Str: "tün", A: -1, B: -1, F: nil},
	{Str: "du", A: -1, B: -1, F: nil},
	{Str: "tu", A: -1, B: -1, F: nil},
	{Str: "dı", A: -1, B: -1, F: nil},
	{Str: "tı", A: -1, B: -1, F: nil},
	{Str: "dü", A: -1, B: -1, F: nil},
	{Str: "tü", A: -1, B: -1, F: nil},
}

var A_21 = []*snowballRuntime.Among{
	{Str: "sa", A: -1, B: -1, F: nil},
	{Str: "se", A: -1, B: -1, F: nil},
	{Str: "sak", A: -1, B: -1, F: nil},
	{Str: "sek", A: -1, B: -1, F: nil},
	{Str: "sam", A: -1, B: -1, F: nil},
	{Str: "sem", A: -1, B: -1, F: nil},
	{Str: "san", A: -1, B: -1, F: nil},
	{Str: "sen", A: -1, B: -1, F: nil},
}

var A_22 = []*snowballRuntime.Among{
	{Str: "miş", A: -1, B: -1, F: nil},
	{Str: "muş", A: -1, B: -1, F: nil},
	{Str: "mış", A: -1, B: -1, F: nil},
	{Str: "müş", A: -1, B: -1, F: nil},
}

var A_23 = []*snowballRuntime.Among{
	{Str: "b", A: -1, B: 1, F: nil},
	{Str: "c", A: -1, B: 2, F: nil},
	{Str: "d", A: -1, B: 3, F: nil},
	{Str: "ğ", A: -1, B: 4, F: nil},
}

var G_vowel = []byte{17, 65, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 8, 0, 0, 0, 0, 0, 0, 1}

var G_U = []byte{1, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1}

var G_vowel1 = []byte{1, 64, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}

var G_vowel2 = []byte{17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 130}

var G_vowel3 = []byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}

var G_vowel4 = []byte{17}

var G_vowel5 = []byte{65}

var G_vowel6 = []byte{65}

type Context struct {
}

func r_check_vowel_harmony(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var v_1 = env.Limit - env.Cursor
	if !env.GoOutGroupingB(G_vowel, 97, 305) {
		return false
	}
lab0:
	for {
		var v_2 = env.Limit - env.Cursor
	lab1:
		for {
			if !env.EqSB("a") {
				break lab1
			}
			if !env.GoOutGroupingB(G_vowel1, 97, 305) {
				break lab1
			}
			break lab0
		}
		env.Cursor = env.Limit - v_2
	lab2:
		for {
			if !env.EqSB("e") {
				break lab2
			}
			if !env.GoOutGroupingB(G_vowel2, 101, 252) {
				break lab2
			}
			break lab0
		}
		env.Cursor = env.Limit - v_2
	lab3:
		for {
			if !env.EqSB("ı") {
				break lab3
			}
			if !env.GoOutGroupingB(G_vowel3, 97, 305) {
				break lab3
			}
			break lab0
		}
		env.Cursor = env.Limit - v_2
	lab4:
		for {
			if !env.EqSB("i") {
				break lab4
			}
			if !env.GoOutGroupingB(G_vowel4, 101, 105) {
				break lab4
			}
			break lab0
		}
		env.Cursor = env.Limit - v_2
	lab5:
		for {
			if !env.EqSB("o") {
				break lab5
			}
			if !env.GoOutGroupingB(G_vowel5, 111, 117) {
				break lab5
			}
			break lab0
		}
		env.Cursor = env.Limit - v_2
	lab6:
		for {
			if !env.EqSB("ö") {
				break lab6
			}
			if !env.GoOutGroupingB(G_vowel6, 246, 252) {
				break lab6
			}
			break lab0
		}
		env.Cursor = env.Limit - v_2
	lab7:
		for {
			if !env.EqSB("u") {
				break lab7
			}
			if !env.GoOutGroupingB(G_vowel5, 111, 117) {
				break lab7
			}
			break lab0
		}
		env.Cursor = env.Limit - v_2
		if !env.EqSB("ü") {
			return false
		}
		if !env.GoOutGroupingB(G_vowel6, 246, 252) {
			return false
		}
		break lab0
	}
	env.Cursor = env.Limit - v_1
	return true
}

func r_mark_suffix_with_optional_n_consonant(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
		var v_1 = env.Limit - env.Cursor
	lab1:
		for {
			if !env.EqSB("n") {
				break lab1
			}
			var v_2 = env.Limit - env.Cursor
			if !env.InGroupingB(G_vowel, 97, 305) {
				break lab1
			}
			env.Cursor = env.Limit - v_2
			break lab0
		}
		env.Cursor = env.Limit - v_1
	lab2:
		for {
			if !env.EqSB("n") {
				break lab2
			}
			return false
		}
		var v_3 = env.Limit - env.Cursor
		if env.Cursor <= env.LimitBackward {
			return false
		}
		env.PrevChar()
		if !env.InGroupingB(G_vowel, 97, 305) {
			return false
		}
		env.Cursor = env.Limit - v_3
		break lab0
	}
	return true
}

func r_mark_suffix_with_optional_y_consonant(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
		var v_1 = env.Limit - env.Cursor
	lab1:
		for {
			if !env.EqSB("y") {
				break lab1
			}
			var v_2 = env.Limit - env.Cursor
			if !env.InGroupingB(G_vowel, 97, 305) {
				break lab1
			}
			env.Cursor = env.Limit - v_2
			break lab0
		}
		env.Cursor = env.Limit - v_1
	lab2:
		for {
			if !env.EqSB("y") {
				break lab2
			}
			return false
		}
		var v_3 = env.Limit - env.Cursor
		if env.Cursor <= env.LimitBackward {
			return false
		}
		env.PrevChar()
		if !env.InGroupingB(G_vowel, 97, 305) {
			return false
		}
		env.Cursor = env.Limit - v_3
		break lab0
	}
	return true
}

func r_mark_possessives(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if env.FindAmongB(A_0, context) == 0 {
		return false
	}
lab0:
	for {
		var v_1 = env.Limit - env.Cursor
	lab1:
		for {
			if !env.InGroupingB(G_U, 105, 305) {
				break lab1
			}
			var v_2 = env.Limit - env.Cursor
			if !env.OutGroupingB(G_vowel, 97, 305) {
				break lab1
			}
			env.Cursor = env.Limit - v_2
			break lab0
		}
		env.Cursor = env.Limit - v_1
	lab2:
		for {
			if !env.InGroupingB(G_U, 105, 305) {
				break lab2
			}
			return false
		}
		var v_3 = env.Limit - env.Cursor
		if env.Cursor <= env.LimitBackward {
			return false
		}
		env.PrevChar()
		if !env.OutGroupingB(G_vowel, 97, 305) {
			return false
		}
		env.Cursor = env.Limit - v_3
		break lab0
	}
	return true
}

func r_mark_sU(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	if !env.InGroupingB(G_U, 105, 305) {
		return false
	}
lab0:
	for {
		var v_1 = env.Limit - env.Cursor
	lab1:
		for {
			if !env.EqSB("s") {
				break lab1
			}
			var v_2 = env.Limit - env.Cursor
			if !env.InGroupingB(G_vowel, 97, 305) {
				break lab1
			}
			env.Cursor = env.Limit - v_2
			break lab0
		}
		env.Cursor = env.Limit - v_1
	lab2:
		for {
			if !env.EqSB("s") {
				break lab2
			}
			return false
		}
		var v_3 = env.Limit - env.Cursor
		if env.Cursor <= env.LimitBackward {
			return false
		}
		env.PrevChar()
		if !env.InGroupingB(G_vowel, 97, 305) {
			return false
		}
		env.Cursor = env.Limit - v_3
		break lab0
	}
	return true
}

func r_mark_lArI(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	return env.FindAmongB(A_1, context) != 0
}

func r_mark_nUn(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	if env.FindAmongB(A_3, context) == 0 {
		return false
	}
	return r_mark_suffix_with_optional_n_consonant(env, context)
}

func r_mark_DA(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	return env.FindAmongB(A_6, context) != 0
}

func r_mark_ndA(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	return env.FindAmongB(A_7, context) != 0
}

func r_mark_yUm(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	if env.FindAmongB(A_12, context) == 0 {
		return false
	}
	return r_mark_suffix_with_optional_y_consonant(env, context)
}

func r_mark_sUn(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	return env.FindAmongB(A_13, context) != 0
}

func r_mark_yUz(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	if env.FindAmongB(A_14, context) == 0 {
		return false
	}
	return r_mark_suffix_with_optional_y_consonant(env, context)
}

func r_mark_sUnUz(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	return env.FindAmongB(A_15, context) != 0
}

func r_mark_lAr(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	return env.FindAmongB(A_16, context) != 0
}

func r_mark_DUr(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	return env.FindAmongB(A_18, context) != 0
}

func r_mark_yDU(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	if env.FindAmongB(A_20, context) == 0 {
		return false
	}
	return r_mark_suffix_with_optional_y_consonant(env, context)
}

func r_mark_ysA(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if env.FindAmongB(A_21, context) == 0 {
		return false
	}
	return r_mark_suffix_with_optional_y_consonant(env, context)
}

func r_mark_ymUs_(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	if !r_check_vowel_harmony(env, context) {
		return false
	}
	if env.FindAmongB(A_22, context) == 0 {
		return false
	}
	return r_mark_suffix_with_optional_y_consonant(env, context)
}

func r_stem_suffix_chain_before_ki(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	env.Ket = env.Cursor
	if !env.EqSB("ki") {
		return false
	}
lab0:
	for {
		var v_1 = env.Limit - env.Cursor
	lab1:
		for {
			if !r_mark_DA(env, context) {
				break lab1
			}
			env.Bra = env.Cursor
			env.SliceDel()
			var v_2 = env.Limit - env.Cursor
		lab2:
			for {
				env.Ket = env.Cursor
			lab3:
				for {
					var v_3 = env.Limit - env.Cursor
				lab4:
					for {
						if !r_mark_lAr(env, context) {
							break lab4
						}
						env.Bra = env.Cursor
						env.SliceDel()
						var v_4 = env.Limit - env.Cursor
					lab5:
						for {
							if !r_stem_suffix_chain_before_ki(env, context) {
								env.Cursor = env.Limit - v_4
								break lab5
							}
							break lab5
						}
						break lab3
					}
					env.Cursor = env.Limit - v_3
					if !r_mark_possessives(env, context) {
						env.Cursor = env.Limit - v_2
						break lab2
					}
					env.Bra = env.Cursor
					env.SliceDel()
					var v_5 = env.Limit - env.Cursor
				lab6:
					for {
						env.Ket = env.Cursor
						if !r_mark_lAr(env, context) {
							env.Cursor = env.Limit - v_5
							break lab6
						}
						env.Bra = env.Cursor
						env.SliceDel()
						if !r_stem_suffix_chain_before_ki(env, context) {
							env.Cursor = env.Limit - v_5
							break lab6
						}
						break lab6
					}
					break lab3
				}
				break lab2
			}
			break lab0
		}
		env.Cursor = env.Limit - v_1
	lab7:
		for {
			if !r_mark_nUn(env, context) {
				break lab7
			}
			env.Bra = env.Cursor
			env.SliceDel()
			var v_6 = env.Limit - env.Cursor
		lab8:
			for {
				env.Ket = env.Cursor
			lab9:
				for {
					var v_7 = env.Limit - env.Cursor
				lab10:
					for {
						if !r_mark_lArI(env, context) {
							break lab10
						}
						env.Bra = env.Cursor
						env.SliceDel()
						break lab9
					}
					env.Cursor = env.Limit - v_7
				lab11:
					for {
						env.Ket = env.Cursor
					lab12:
						for {
							var v_8 = env.Limit - env.Cursor
						lab13:
							for {
								if !r_mark_possessives(env, context) {
									break lab13
								}
								break lab12
							}
							env.Cursor = env.Limit - v_8
							if !r_mark_sU(env, context) {
								break lab11
							}
							break lab12
						}
						env.Bra = env.Cursor
						env.SliceDel()
						var v_9 = env.Limit - env.Cursor
					lab14:
						for {
							env.Ket = env.Cursor
							if !r_mark_lAr(env, context) {
								env.Cursor = env.Limit - v_9
								break lab14
							}
							env.Bra = env.Cursor
							env.SliceDel()
							if !r_stem_suffix_chain_before_ki(env, context) {
								env.Cursor = env.Limit - v_9
								break lab14
							}
							break lab14
						}
						break lab9
					}
					env.Cursor = env.Limit - v_7
					if !r_stem_suffix_chain_before_ki(env, context) {
						env.Cursor = env.Limit - v_6
						break lab8
					}
					break lab9
				}
				break lab8
			}
			break lab0
		}
		env.Cursor = env.Limit - v_1
		if !r_mark_ndA(env, context) {
			return false
		}
	lab15:
		for {
			var v_10 = env.Limit - env.Cursor
		lab16:
			for {
				if !r_mark_lArI(env, context) {
					break lab16
				}
				env.Bra = env.Cursor
				env.SliceDel()
				break lab15
			}
			env.Cursor = env.Limit - v_10
		lab17:
			for {
				if !r_mark_sU(env, context) {
					break lab17
				}
				env.Bra = env.Cursor
				env.SliceDel()
				var v_11 = env.Limit - env.Cursor
			lab18:
				for {
					env.Ket = env.Cursor
					if !r_mark_lAr(env, context) {
						env.Cursor = env.Limit - v_11
						break lab18
					}
					env.Bra = env.Cursor
					env.SliceDel()
					if !r_stem_suffix_chain_before_ki(env, context) {
						env.Cursor = env.Limit - v_11
						break lab18
					}
					break lab18
				}
				break lab15
			}
			env.Cursor = env.Limit - v_10
			if !r_stem_suffix_chain_before_ki(env, context) {
				return false
			}
			break lab15
		}
		break lab0
	}
	return true
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var b_continue_stemming_noun_suffixes bool
lab0:
	for {
		var v_1 = env.Cursor
	lab1:
		for {
			env.Bra = env.Cursor
		golab2:
			for {
				var v_2 = env.Cursor
			lab3:
				for {
				lab4:
					for {
						if !env.EqS("'") {
							break lab4
						}
						break lab3
					}
					env.Cursor = v_2
					break golab2
				}
				env.Cursor = v_2
				if env.Cursor >= env.Limit {
					break lab1
				}
				env.NextChar()
			}
			env.Ket = env.Cursor
			env.SliceDel()
			break lab1
		}
		env.Cursor = v_1
		var v_3 = env.Cursor
	lab5:
		for {
			if !env.Hop(2) {
				break lab5
			}
		golab6:
			for {
				var v_4 = env.Cursor
			lab7:
				for {
					if !env.EqS("'") {
						break lab7
					}
					env.Cursor = v_4
					break golab6
				}
				env.Cursor = v_4
				if env.Cursor >= env.Limit {
					break lab5
				}
				env.NextChar()
			}
			env.Bra = env.Cursor
			env.Cursor = env.Limit
			env.Ket = env.Cursor
			env.SliceDel()
			break lab5
		}
		env.Cursor = v_3
		break lab0
	}
	var v_5 = env.Cursor
	for range make([]struct{}, 2) {
		if !env.GoOutGrouping(G_vowel, 97, 305) {
			return false
		}
		env.NextChar()
	}
	env.Cursor = v_5
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_7 = env.Limit - env.Cursor
lab8:
	for {
		env.Ket = env.Cursor
		b_continue_stemming_noun_suffixes = true
	lab9:
		for {
			var v_8 = env.Limit - env.Cursor
		lab10:
			for {
			lab11:
				for {
					var v_9 = env.Limit - env.Cursor
				lab12:
					for {
						if !r_mark_ymUs_(env, context) {
							break lab12
						}
						break lab11
					}
					env.Cursor = env.Limit - v_9
				lab13:
					for {
						if !r_mark_yDU(env, context) {
							break lab13
						}
						break lab11
					}
					env.Cursor = env.Limit - v_9
				lab14:
					for {
						if !r_mark_ysA(env, context) {
							break lab14
						}
						break lab11
					}
					env.Cursor = env.Limit - v_9
					if !env.EqSB("ken") {
						break lab10
					}
					if !r_mark_suffix_with_optional_y_consonant(env, context) {
						break lab10
					}
					break lab11
				}
				break lab9
			}
			env.Cursor = env.Limit - v_8
		lab15:
			for {
				if env.FindAmongB(A_19, context) == 0 {
					break lab15
				}
			lab16:
				for {
					var v_10 = env.Limit - env.Cursor
				lab17:
					for {
						if !r_mark_sUnUz(env, context) {
							break lab17
						}
						break lab16
					}
					env.Cursor = env.Limit - v_10
				lab18:
					for {
						if !r_mark_lAr(env, context) {
							break lab18
						}
						break lab16
					}
					env.Cursor = env.Limit - v_10
				lab19:
					for {
						if !r_mark_yUm(env, context) {
							break lab19
						}
						break lab16
					}
					env.Cursor = env.Limit - v_10
				lab20:
					for {
						if !r_mark_sUn(env, context) {
							break lab20
						}
						break lab16
					}
					env.Cursor = env.Limit - v_10
				lab21:
					for {
						if !r_mark_yUz(env, context) {
							break lab21
						}
						break lab16
					}
					env.Cursor = env.Limit - v_10
					break lab16
				}
				if !r_mark_ymUs_(env, context) {
					break lab15
				}
				break lab9
			}
			env.Cursor = env.Limit - v_8
		lab22:
			for {
				if !r_mark_lAr(env, context) {
					break lab22
				}
				env.Bra = env.Cursor
				env.SliceDel()
				var v_11 = env.Limit - env.Cursor
			lab23:
				for {
					env.Ket = env.Cursor
				lab24:
					for {
						var v_12 = env.Limit - env.Cursor
					lab25:
						for {
							if !r_mark_DUr(env, context) {
								break lab25
							}
							break lab24
						}
						env.Cursor = env.Limit - v_12
					lab26:
						for {
							if !r_mark_yDU(env, context) {
								break lab26
							}
							break lab24
						}
						env.Cursor = env.Limit - v_12
					lab27:
						for {
							if !r_mark_ysA(env, context) {
								break lab27
							}
							break lab24
						}
						env.Cursor = env.Limit - v_12
						if !r_mark_ymUs_(env, context) {
							env.Cursor = env.Limit - v_11
							break lab23
						}
						break lab24
					}
					break lab23
				}
				b_continue_stemming_noun_suffixes = false
				break lab9
			}
			env.Cursor = env.Limit - v_8
		lab28:
			for {
				if !r_check_vowel_harmony(env, context) {
					break lab28
				}
				if env.FindAmongB(A_17, context) == 0 {
					break lab28
				}
			lab29:
				for {
					var v_13 = env.Limit - env.Cursor
				lab30:
					for {
						if !r_mark_yDU(env, context) {
							break lab30
						}
						break lab29
					}
					env.Cursor = env.Limit - v_13
					if !r_mark_ysA(env, context) {
						break lab28
					}
					break lab29
				}
				break lab9
			}
			env.Cursor = env.Limit - v_8
		lab31:
			for {
			lab32:
				for {
					var v_14 = env.Limit - env.Cursor
				lab33:
					for {
						if !r_mark_sUnUz(env, context) {
							break lab33
						}
						break lab32
					}
					env.Cursor = env.Limit - v_14
				lab34:
					for {
						if !r_mark_yUz(env, context) {
							break lab34
						}
						break lab32
					}
					env.Cursor = env.Limit - v_14
				lab35:
					for {
						if !r_mark_sUn(env, context) {
							break lab35
						}
						break lab32
					}
					env.Cursor = env.Limit - v_14
					if !r_mark_yUm(env, context) {
						break lab31
					}
					break lab32
				}
				env.Bra = env.Cursor
				env.SliceDel()
				var v_15 = env.Limit - env.Cursor
			lab36:
				for {
					env.Ket = env.Cursor
					if !r_mark_ymUs_(env, context) {
						env.Cursor = env.Limit - v_15
						break lab36
					}
					break lab36
				}
				break lab9
			}
			env.Cursor = env.Limit - v_8
			if !r_mark_DUr(env, context) {
				break lab8
			}
			env.Bra = env.Cursor
			env.SliceDel()
			var v_16 = env.Limit - env.Cursor
		lab37:
			for {
				env.Ket = env.Cursor
			lab38:
				for {
					var v_17 = env.Limit - env.Cursor
				lab39:
					for {
						if !r_mark_sUnUz(env, context) {
							break lab39
						}
						break lab38
					}
					env.Cursor = env.Limit - v_17
				lab40:
					for {
						if !r_mark_lAr(env, context) {
							break lab40
						}
						break lab38
					}
					env.Cursor = env.Limit - v_17
				lab41:
					for {
						if !r_mark_yUm(env, context) {
							break lab41
						}
						break lab38
					}
					env.Cursor = env.Limit - v_17
				lab42:
					for {
						if !r_mark_sUn(env, context) {
							break lab42
						}
						break lab38
					}
					env.Cursor = env.Limit - v_17
				lab43:
					for {
						if !r_mark_yUz(env, context) {
							break lab43
						}
						break lab38
					}
					env.Cursor = env.Limit - v_17
					break lab38
				}
				if !r_mark_ymUs_(env, context) {
					env.Cursor = env.Limit - v_16
					break lab37
				}
				break lab37
			}
			break lab9
		}
		env.Bra = env.Cursor
		env.SliceDel()
		break lab8
	}
	env.Cursor = env.Limit - v_7
	if !b_continue_stemming_noun_suffixes {
		return false
	}
	var v_18 = env.Limit - env.Cursor
lab44:
	for {
	lab45:
		for {
			var v_19 = env.Limit - env.Cursor
		lab46:
			for {
				env.Ket = env.Cursor
				if !r_mark_lAr(env, context) {
					break lab46
				}
				env.Bra = env.Cursor
				env.SliceDel()
				var v_20 = env.Limit - env.Cursor
			lab47:
				for {
					if !r_stem_suffix_chain_before_ki(env, context) {
						env.Cursor = env.Limit - v_20
						break lab47
					}
					break lab47
				}
				break lab45
			}
			env.Cursor = env.Limit - v_19
		lab48:
			for {
				env.Ket = env.Cursor
				if !r_check_vowel_harmony(env, context) {
					break lab48
				}
				if env.FindAmongB(A_11, context) == 0 {
					break lab48
				}
				if !r_mark_suffix_with_optional_n_consonant(env, context) {
					break lab48
				}
				env.Bra = env.Cursor
				env.SliceDel()
				var v_21 = env.Limit - env.Cursor
			lab49:
				for {
				lab50:
					for {
						var v_22 = env.Limit - env.Cursor
					lab51:
						for {
							env.Ket = env.Cursor
							if !r_mark_lArI(env, context) {
								break lab51
							}
							env.Bra = env.Cursor
							env.SliceDel()
							break lab50
						}
						env.Cursor = env.Limit - v_22
					lab52:
						for {
							env.Ket = env.Cursor
						lab53:
							for {
								var v_23 = env.Limit - env.Cursor
							lab54:
								for {
									if !r_mark_possessives(env, context) {
										break lab54
									}
									break lab53
								}
								env.Cursor = env.Limit - v_23
								if !r_mark_sU(env, context) {
									break lab52
								}
								break lab53
							}
							env.Bra = env.Cursor
							env.SliceDel()
							var v_24 = env.Limit - env.Cursor
						lab55:
							for {
								env.Ket = env.Cursor
								if !r_mark_lAr(env, context) {
									env.Cursor = env.Limit - v_24
									break lab55
								}
								env.Bra = env.Cursor
								env.SliceDel()
								if !r_stem_suffix_chain_before_ki(env, context) {
									env.Cursor = env.Limit - v_24
									break lab55
								}
								break lab55
							}
							break lab50
						}
						env.Cursor = env.Limit - v_22
						env.Ket = env.Cursor
						if !r_mark_lAr(env, context) {
							env.Cursor = env.Limit - v_21
							break lab49
						}
						env.Bra = env.Cursor
						env.SliceDel()
						if !r_stem_suffix_chain_before_ki(env, context) {
							env.Cursor = env.Limit - v_21
							break lab49
						}
						break lab50
					}
					break lab49
				}
				break lab45
			}
			env.Cursor = env.Limit - v_19
		lab56:
			for {
				env.Ket = env.Cursor
			lab57:
				for {
					var v_25 = env.Limit - env.Cursor
				lab58:
					for {
						if !r_mark_ndA(env, context) {
							break lab58
						}
						break lab57
					}
					env.Cursor = env.Limit - v_25
					if !r_check_vowel_harmony(env, context) {
						break lab56
					}
					if env.FindAmongB(A_5, context) == 0 {
						break lab56
					}
					break lab57
				}
			lab59:
				for {
					var v_26 = env.Limit - env.Cursor
				lab60:
					for {
						if !r_mark_lArI(env, context) {
							break lab60
						}
						env.Bra = env.Cursor
						env.SliceDel()
						break lab59
					}
					env.Cursor = env.Limit - v_26
				lab61:
					for {
						if !r_mark_sU(env, context) {
							break lab61
						}
						env.Bra = env.Cursor
						env.SliceDel()
						var v_27 = env.Limit - env.Cursor
					lab62:
						for {
							env.Ket = env.Cursor
							if !r_mark_lAr(env, context) {
								env.Cursor = env.Limit - v_27
								break lab62
							}
							env.Bra = env.Cursor
							env.SliceDel()
							if !r_stem_suffix_chain_before_ki(env, context) {
								env.Cursor = env.Limit - v_27
								break lab62
							}
							break lab62
						}
						break lab59
					}
					env.Cursor = env.Limit - v_26
					if !r_stem_suffix_chain_before_ki(env, context) {
						break lab56
					}
					break lab59
				}
				break lab45
			}
			env.Cursor = env.Limit - v_19
		lab63:
			for {
				env.Ket = env.Cursor
			lab64:
				for {
					var v_28 = env.Limit - env.Cursor
				lab65:
					for {
						if !r_check_vowel_harmony(env, context) {
							break lab65
						}
						if env.FindAmongB(A_9, context) == 0 {
							break lab65
						}
						break lab64
					}
					env.Cursor = env.Limit - v_28
					if !r_check_vowel_harmony(env, context) {
						break lab63
					}
					if env.FindAmongB(A_2, context) == 0 {
						break lab63
					}
					break lab64
				}
			lab66:
				for {
					var v_29 = env.Limit - env.Cursor
				lab67:
					for {
						if !r_mark_sU(env, context) {
							break lab67
						}
						env.Bra = env.Cursor
						env.SliceDel()
						var v_30 = env.Limit - env.Cursor
					lab68:
						for {
							env.Ket = env.Cursor
							if !r_mark_lAr(env, context) {
								env.Cursor = env.Limit - v_30
								break lab68
							}
							env.Bra = env.Cursor
							env.SliceDel()
							if !r_stem_suffix_chain_before_ki(env, context) {
								env.Cursor = env.Limit - v_30
								break lab68
							}
							break lab68
						}
						break lab66
					}
					env.Cursor = env.Limit - v_29
					if !r_mark_lArI(env, context) {
						break lab63
					}
					break lab66
				}
				break lab45
			}
			env.Cursor = env.Limit - v_19
		lab69:
			for {
				env.Ket = env.Cursor
				if !r_check_vowel_harmony(env, context) {
					break lab69
				}
				if env.FindAmongB(A_8, context) == 0 {
					break lab69
				}
				env.Bra = env.Cursor
				env.SliceDel()
				var v_31 = env.Limit - env.Cursor
			lab70:
				for {
					env.Ket = env.Cursor
				lab71:
					for {
						var v_32 = env.Limit - env.Cursor
					lab72:
						for {
							if !r_mark_possessives(env, context) {
								break lab72
							}
							env.Bra = env.Cursor
							env.SliceDel()
							var v_33 = env.Limit - env.Cursor
						lab73:
							for {
								env.Ket = env.Cursor
								if !r_mark_lAr(env, context) {
									env.Cursor = env.Limit - v_33
									break lab73
								}
								env.Bra = env.Cursor
								env.SliceDel()
								if !r_stem_suffix_chain_before_ki(env, context) {
									env.Cursor = env.Limit - v_33
									break lab73
								}
								break lab73
							}
							break lab71
						}
						env.Cursor = env.Limit - v_32
					lab74:
						for {
							if !r_mark_lAr(env, context) {
								break lab74
							}
							env.Bra = env.Cursor
							env.SliceDel()
							var v_34 = env.Limit - env.Cursor
						lab75:
							for {
								if !r_stem_suffix_chain_before_ki(env, context) {
									env.Cursor = env.Limit - v_34
									break lab75
								}
								break lab75
							}
							break lab71
						}
						env.Cursor = env.Limit - v_32
						if !r_stem_suffix_chain_before_ki(env, context) {
							env.Cursor = env.Limit - v_31
							break lab70
						}
						break lab71
					}
					break lab70
				}
				break lab45
			}
			env.Cursor = env.Limit - v_19
		lab76:
			for {
				env.Ket = env.Cursor
			lab77:
				for {
					var v_35 = env.Limit - env.Cursor
				lab78:
					for {
						if !r_mark_nUn(env, context) {
							break lab78
						}
						break lab77
					}
					env.Cursor = env.Limit - v_35
					if !r_check_vowel_harmony(env, context) {
						break lab76
					}
					if env.FindAmongB(A_10, context) == 0 {
						break lab76
					}
					if !r_mark_suffix_with_optional_y_consonant(env, context) {
						break lab76
					}
					break lab77
				}
				env.Bra = env.Cursor
				env.SliceDel()
				var v_36 = env.Limit - env.Cursor
			lab79:
				for {
				lab80:
					for {
						var v_37 = env.Limit - env.Cursor
					lab81:
						for {
							env.Ket = env.Cursor
							if !r_mark_lAr(env, context) {
								break lab81
							}
							env.Bra = env.Cursor
							env.SliceDel()
							if !r_stem_suffix_chain_before_ki(env, context) {
								break lab81
							}
							break lab80
						}
						env.Cursor = env.Limit - v_37
					lab82:
						for {
							env.Ket = env.Cursor
						lab83:
							for {
								var v_38 = env.Limit - env.Cursor
							lab84:
								for {
									if !r_mark_possessives(env, context) {
										break lab84
									}
									break lab83
								}
								env.Cursor = env.Limit - v_38
								if !r_mark_sU(env, context) {
									break lab82
								}
								break lab83
							}
							env.Bra = env.Cursor
							env.SliceDel()
							var v_39 = env.Limit - env.Cursor
						lab85:
							for {
								env.Ket = env.Cursor
								if !r_mark_lAr(env, context) {
									env.Cursor = env.Limit - v_39
									break lab85
								}
								env.Bra = env.Cursor
								env.SliceDel()
								if !r_stem_suffix_chain_before_ki(env, context) {
									env.Cursor = env.Limit - v_39
									break lab85
								}
								break lab85
							}
							break lab80
						}
						env.Cursor = env.Limit - v_37
						if !r_stem_suffix_chain_before_ki(env, context) {
							env.Cursor = env.Limit - v_36
							break lab79
						}
						break lab80
					}
					break lab79
				}
				break lab45
			}
			env.Cursor = env.Limit - v_19
		lab86:
			for {
				env.Ket = env.Cursor
				if !r_mark_lArI(env, context) {
					break lab86
				}
				env.Bra = env.Cursor
				env.SliceDel()
				break lab45
			}
			env.Cursor = env.Limit - v_19
		lab87:
			for {
				if !r_stem_suffix_chain_before_ki(env, context) {
					break lab87
				}
				break lab45
			}
			env.Cursor = env.Limit - v_19
		lab88:
			for {
				env.Ket = env.Cursor
			lab89:
				for {
					var v_40 = env.Limit - env.Cursor
				lab90:
					for {
						if !r_mark_DA(env, context) {
							break lab90
						}
						break lab89
					}
					env.Cursor = env.Limit - v_40
				lab91:
					for {
						if !r_check_vowel_harmony(env, context) {
							break lab91
						}
						if !env.InGroupingB(G_U, 105, 305) {
							break lab91
						}
						if !r_mark_suffix_with_optional_y_consonant(env, context) {
							break lab91
						}
						break lab89
					}
					env.Cursor = env.Limit - v_40
					if !r_check_vowel_harmony(env, context) {
						break lab88
					}
					if env.FindAmongB(A_4, context) == 0 {
						break lab88
					}
					if !r_mark_suffix_with_optional_y_consonant(env, context) {
						break lab88
					}
					break lab89
				}
				env.Bra = env.Cursor
				env.SliceDel()
				var v_41 = env.Limit - env.Cursor
			lab92:
				for {
					env.Ket = env.Cursor
				lab93:
					for {
						var v_42 = env.Limit - env.Cursor
					lab94:
						for {
							if !r_mark_possessives(env, context) {
								break lab94
							}
							env.Bra = env.Cursor
							env.SliceDel()
							var v_43 = env.Limit - env.Cursor
						lab95:
							for {
								env.Ket = env.Cursor
								if !r_mark_lAr(env, context) {
									env.Cursor = env.Limit - v_43
									break lab95
								}
								break lab95
							}
							break lab93
						}
						env.Cursor = env.Limit - v_42
						if !r_mark_lAr(env, context) {
							env.Cursor = env.Limit - v_41
							break lab92
						}
						break lab93
					}
					env.Bra = env.Cursor
					env.SliceDel()
					env.Ket = env.Cursor
					if !r_stem_suffix_chain_before_ki(env, context) {
						env.Cursor = env.Limit - v_41
						break lab92
					}
					break lab92
				}
				break lab45
			}
			env.Cursor = env.Limit - v_19
			env.Ket = env.Cursor
		lab96:
			for {
				var v_44 = env.Limit - env.Cursor
			lab97:
				for {
					if !r_mark_possessives(env, context) {
						break lab97
					}
					break lab96
				}
				env.Cursor = env.Limit - v_44
				if !r_mark_sU(env, context) {
					break lab44
				}
				break lab96
			}
			env.Bra = env.Cursor
			env.SliceDel()
			var v_45 = env.Limit - env.Cursor
		lab98:
			for {
				env.Ket = env.Cursor
				if !r_mark_lAr(env, context) {
					env.Cursor = env.Limit - v_45
					break lab98
				}
				env.Bra = env.Cursor
				env.SliceDel()
				if !r_stem_suffix_chain_before_ki(env, context) {
					env.Cursor = env.Limit - v_45
					break lab98
				}
				break lab98
			}
			break lab45
		}
		break lab44
	}
	env.Cursor = env.Limit - v_18
	env.Cursor = env.LimitBackward
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_46 = env.Limit - env.Cursor
lab99:
	for {
		if !env.EqSB("ad") {
			break lab99
		}
		var v_47 = env.Limit - env.Cursor
	lab100:
		for {
			if !env.EqSB("soy") {
				env.Cursor = env.Limit - v_47
				break lab100
			}
			break lab100
		}
		if env.Cursor > env.LimitBackward {
			break lab99
		}
		return false
	}
	env.Cursor = env.Limit - v_46
	var v_48 = env.Limit - env.Cursor
lab101:
	for {
		env.Ket = env.Cursor
		env.Bra = env.Cursor
	lab102:
		for {
		lab103:
			for {
				if !env.EqSB("d") {
					break lab103
				}
				break lab102
			}
			if !env.EqSB("g") {
				break lab101
			}
			break lab102
		}
		if !env.GoOutGroupingB(G_vowel, 97, 305) {
			break lab101
		}
	lab104:
		for {
			var v_49 = env.Limit - env.Cursor
		lab105:
			for {
			lab106:
				for {
				lab107:
					for {
						if !env.EqSB("a") {
							break lab107
						}
						break lab106
					}
					if !env.EqSB("ı") {
						break lab105
					}
					break lab106
				}
				env.SliceFrom("ı")
				break lab104
			}
			env.Cursor = env.Limit - v_49
		lab108:
			for {
			lab109:
				for {
				lab110:
					for {
						if !env.EqSB("e") {
							break lab110
						}
						break lab109
					}
					if !env.EqSB("i") {
						break lab108
					}
					break lab109
				}
				env.SliceFrom("i")
				break lab104
			}
			env.Cursor = env.Limit - v_49
		lab111:
			for {
			lab112:
				for {
				lab113:
					for {
						if !env.EqSB("o") {
							break lab113
						}
						break lab112
					}
					if !env.EqSB("u") {
						break lab111
					}
					break lab112
				}
				env.SliceFrom("u")
				break lab104
			}
			env.Cursor = env.Limit - v_49
		lab114:
			for {
			lab115:
				for {
					if !env.EqSB("ö") {
						break lab115
					}
					break lab114
				}
				if !env.EqSB("ü") {
					break lab101
				}
				break lab114
			}
			env.SliceFrom("ü")
			break lab104
		}
		break lab101
	}
	env.Cursor = env.Limit - v_48
	var v_50 = env.Limit - env.Cursor
lab116:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_23, context)
		if among_var == 0 {
			break lab116
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			env.SliceFrom("p")
		case 2:
			env.SliceFrom("ç")
		case 3:
			env.SliceFrom("t")
		case 4:
			env.SliceFrom("k")
		}
		break lab116
	}
	env.Cursor = env.Limit - v_50
	env.Cursor = env.LimitBackward
	return true
}
