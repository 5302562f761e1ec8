// Code generated from algorithms/arabic.sbl by the Snowball compiler; DO NOT EDIT.

// Package arabic finds the stems of words; see the package snowball.
package arabic

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "\u0640", A: -1, B: 1, F: nil},
	{Str: "\u064B", A: -1, B: 1, F: nil},
	{Str: "\u064C", A: -1, B: 1, F: nil},
	{Str: "\u064D", A: -1, B: 1, F: nil},
	{Str: "\u064E", A: -1, B: 1, F: nil},
	{Str: "\u064F", A: -1, B: 1, F: nil},
	{Str: "\u0650", A: -1, B: 1, F: nil},
	{Str: "\u0651", A: -1, B: 1, F: nil},
	{Str: "\u0652", A: -1, B: 1, F: nil},
	{Str: "\u0660", A: -1, B: 2, F: nil},
	{Str: "\u0661", A: -1, B: 3, F: nil},
	{Str: "\u0662", A: -1, B: 4, F: nil},
	{Str: "\u0663", A: -1, B: 5, F: nil},
	{Str: "\u0664", A: -1, B: 6, F: nil},
	{Str: "\u0665", A: -1, B: 7, F: nil},
	{Str: "\u0666", A: -1, B: 8, F: nil},
	{Str: "\u0667", A: -1, B: 9, F: nil},
	{Str: "\u0668", A: -1, B: 10, F: nil},
	{Str: "\u0669", A: -1, B: 11, F: nil},
	{Str: "\uFE80", A: -1, B: 12, F: nil},
	{Str: "\uFE81", A: -1, B: 16, F: nil},
	{Str: "\uFE82", A: -1, B: 16, F: nil},
	{Str: "\uFE83", A: -1, B: 13, F: nil},
	{Str: "\uFE84", A: -1, B: 13, F: nil},
	{Str: "\uFE85", A: -1, B: 17, F: nil},
	{Str: "\uFE86", A: -1, B: 17, F: nil},
	{Str: "\uFE87", A: -1, B: 14, F: nil},
	{Str: "\uFE88", A: -1, B: 14, F: nil},
	{Str: "\uFE89", A: -1, B: 15, F: nil},
	{Str: "\uFE8A", A: -1, B: 15, F: nil},
	{Str: "\uFE8B", A: -1, B: 15, F: nil},
	{Str: "\uFE8C", A: -1, B: 15, F: nil},
	{Str: "\uFE8D", A: -1, B: 18, F: nil},
	{Str: "\uFE8E", A: -1, B: 18, F: nil},
	{Str: "\uFE8F", A: -1, B: 19, F: nil},
	{Str: "\uFE90", A: -1, B: 19, F: nil},
	{Str: "\uFE91", A: -1, B: 19, F: nil},
	{Str: "\uFE92", A: -1, B: 19, F: nil},
	{Str: "\uFE93", A: -1, B: 20, F: nil},
	{Str: "\uFE94", A: -1, B: 20, F: nil},
	{Str: "\uFE95", A: -1, B: 21, F: nil},
	{Str: "\uFE96", A: -1, B: 21, F: nil},
	{Str: "\uFE97", A: -1, B: 21, F: nil},
	{Str: "\uFE98", A: -1, B: 21, F: nil},
	{Str: "\uFE99", A: -1, B: 22, F: nil},
	{Str: "\uFE9A", A: -1, B: 22, F: nil},
	{Str: "\uFE9B", A: -1, B: 22, F: nil},
	{Str: "\uFE9C", A: -1, B: 22, F: nil},
	{Str: "\uFE9D", A: -1, B: 23, F: nil},
	{Str: "\uFE9E", A: -1, B: 23, F: nil},
	{Str: "\uFE9F", A: -1, B: 23, F: nil},
	{Str: "\uFEA0", A: -1, B: 23, F: nil},
	{Str: "\uFEA1", A: -1, B: 24, F: nil},
	{Str: "\uFEA2", A: -1, B: 24, F: nil},
	{Str: "\uFEA3", A: -1, B: 24, F: nil},
	{Str: "\uFEA4", A: -1, B: 24, F: nil},
	{Str: "\uFEA5", A: -1, B: 25, F: nil},
	{Str: "\uFEA6", A: -1, B: 25, F: nil},
	{Str: "\uFEA7", A: -1, B: 25, F: nil},
	{Str: "\uFEA8", A: -1, B: 25, F: nil},
	{Str: "\uFEA9", A: -1, B: 26, F: nil},
	{Str: "\uFEAA", A: -1, B: 26, F: nil},
	{Str: "\uFEAB", A: -1, B: 27, F: nil},
	{Str: "\uFEAC", A: -1, B: 27, F: nil},
	{Str: "\uFEAD", A: -1, B: 28, F: nil},
	{Str: "\uFEAE", A: -1, B: 28, F: nil},
	{Str: "\uFEAF", A: -1, B: 29, F: nil},
	{Str: "\uFEB0", A: -1, B: 29, F: nil},
	{Str: "\uFEB1", A: -1, B: 30, F: nil},
	{Str: "\uFEB2", A: -1, B: 30, F: nil},
	{Str: "\uFEB3", A: -1, B: 30, F: nil},
	{Str: "\uFEB4", A: -1, B: 30, F: nil},
	{Str: "\uFEB5", A: -1, B: 31, F: nil},
	{Str: "\uFEB6", A: -1, B: 31, F: nil},
	{Str: "\uFEB7", A: -1, B: 31, F: nil},
	{Str: "\uFEB8", A: -1, B: 31, F: nil},
	{Str: "\uFEB9", A: -1, B: 32, F: nil},
	{Str: "\uFEBA", A: -1, B: 32, F: nil},
	{Str: "\uFEBB", A: -1, B: 32, F: nil},
	{Str: "\uFEBC", A: -1, B: 32, F: nil},
	{Str: "\uFEBD", A: -1, B: 33, F: nil},
	{Str: "\uFEBE", A: -1, B: 33, F: nil},
	{Str: "\uFEBF", A: -1, B: 33, F: nil},
	{Str: "\uFEC0", A: -1, B: 33, F: nil},
	{Str: "\uFEC1", A: -1, B: 34, F: nil},
	{Str: "\uFEC2", A: -1, B: 34, F: nil},
	{Str: "\uFEC3", A: -1, B: 34, F: nil},
	{Str: "\uFEC4", A: -1, B: 34, F: nil},
	{Str: "\uFEC5", A: -1, B: 35, F: nil},
	{Str: "\uFEC6", A: -1, B: 35, F: nil},
	{Str: "\uFEC7", A: -1, B: 35, F: nil},
	{Str: "\uFEC8", A: -1, B: 35, F: nil},
	{Str: "\uFEC9", A: -1, B: 36, F: nil},
	{Str: "\uFECA", A: -1, B: 36, F: nil},
	{Str: "\uFECB", A: -1, B: 36, F: nil},
	{Str: "\uFECC", A: -1, B: 36, F: nil},
	{Str: "\uFECD", A: -1, B: 37, F: nil},
	{Str: "\uFECE", A: -1, B: 37, F: nil},
	{Str: "\uFECF", A: -1, B: 37, F: nil},
	{Str: "\uFED0", A: -1, B: 37, F: nil},
	{Str: "\uFED1", A: -1, B: 38, F: nil},
	{Str: "\uFED2", A: -1, B: 38, F: nil},
	{Str: "\uFED3", A: -1, B: 38, F: nil},
	{Str: "\uFED4", A: -1, B: 38, F: nil},
	{Str: "\uFED5", A: -1, B: 39, F: nil},
	{Str: "\uFED6", A: -1, B: 39, F: nil},
	{Str: "\uFED7", A: -1, B: 39, F: nil},
	{Str: "\uFED8", A: -1, B: 39, F: nil},
	{Str: "\uFED9", A: -1, B: 40, F: nil},
	{Str: "\uFEDA", A: -1, B: 40, F: nil},
	{Str: "\uFEDB", A: -1, B: 40, F: nil},
	{Str: "\uFEDC", A: -1, B: 40, F: nil},
	{Str: "\uFEDD", A: -1, B: 41, F: nil},
	{Str: "\uFEDE", A: -1, B: 41, F: nil},
	{Str: "\uFEDF", A: -1, B: 41, F: nil},
	{Str: "\uFEE0", A: -1, B: 41, F: nil},
	{Str: "\uFEE1", A: -1, B: 42, F: nil},
	{Str: "\uFEE2", A: -1, B: 42, F: nil},
	{Str: "\uFEE3", A: -1, B: 42, F: nil},
	{Str: "\uFEE4", A: -1, B: 42, F: nil},
	{Str: "\uFEE5", A: -1, B: 43, F: nil},
	{Str: "\uFEE6", A: -1, B: 43, F: nil},
	{Str: "\uFEE7", A: -1, B: 43, F: nil},
	{Str: "\uFEE8", A: -1, B: 43, F: nil},
	{Str: "\uFEE9", A: -1, B: 44, F: nil},
	{Str: "\uFEEA", A: -1, B: 44, F: nil},
	{Str: "\uFEEB", A: -1, B: 44, F: nil},
	{Str: "\uFEEC", A: -1, B: 44, F: nil},
	{Str: "\uFEED", A: -1, B: 45, F: nil},
	{Str: "\uFEEE", A: -1, B: 45, F: nil},
	{Str: "\uFEEF", A: -1, B: 46, F: nil},
	{Str: "\uFEF0", A: -1, B: 46, F: nil},
	{Str: "\uFEF1", A: -1, B: 47, F: nil},
	{Str: "\uFEF2", A: -1, B: 47, F: nil},
	{Str: "\uFEF3", A: -1, B: 47, F: nil},
	{Str: "\uFEF4", A: -1, B: 47, F: nil},
	{Str: "\uFEF5", A: -1, B: 51, F: nil},
	{Str: "\uFEF6", A: -1, B: 51, F: nil},
	{Str: "\uFEF7", A: -1, B: 49, F: nil},
	{Str: "\uFEF8", A: -1, B: 49, F: nil},
	{Str: "\uFEF9", A: -1, B: 50, F: nil},
	{Str: "\uFEFA", A: -1, B: 50, F: nil},
	{Str: "\uFEFB", A: -1, B: 48, F: nil},
	{Str: "\uFEFC", A: -1, B: 48, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "\u0622", A: -1, B: 1, F: nil},
	{Str: "\u0623", A: -1, B: 1, F: nil},
	{Str: "\u0624", A: -1, B: 1, F: nil},
	{Str: "\u0625", A: -1, B: 1, F: nil},
	{Str: "\u0626", A: -1, B: 1, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "\u0622", A: -1, B: 1, F: nil},
	{Str: "\u0623", A: -1, B: 1, F: nil},
	{Str: "\u0624", A: -1, B: 2, F: nil},
	{Str: "\u0625", A: -1, B: 1, F: nil},
	{Str: "\u0626", A: -1, B: 3, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "\u0627\u0644", A: -1, B: 2, F: nil},
	{Str: "\u0628\u0627\u0644", A: -1, B: 1, F: nil},
	{Str: "\u0643\u0627\u0644", A: -1, B: 1, F: nil},
	{Str: "\u0644\u0644", A: -1, B: 2, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "\u0623\u0622", A: -1, B: 2, F: nil},
	{Str: "\u0623\u0623", A: -1, B: 1, F: nil},
	{Str: "\u0623\u0624", A: -1, B: 1, F: nil},
	{Str: "\u0623\u0625", A: -1, B: 4, F: nil},
	{Str: "\u0623\u0627", A: -1, B: 3, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "\u0641", A: -1, B: 1, F: nil},
	{Str: "\u0648", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "\u0627\u0644", A: -1, B: 2, F: nil},
	{Str: "\u0628\u0627\u0644", A: -1, B: 1, F: nil},
	{Str: "\u0643\u0627\u0644", A: -1, B: 1, F: nil},
	{Str: "\u0644\u0644", A: -1, B: 2, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "\u0628", A: -1, B: 1, F: nil},
	{Str: "\u0628\u0627", A: 0, B: -1, F: nil},
	{Str: "\u0628\u0628", A: 0, B: 2, F: nil},
	{Str: "\u0643\u0643", A: -1, B: 3, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "\u0633\u0623", A: -1, B: 4, F: nil},
	{Str: "\u0633\u062A", A: -1, B: 2, F: nil},
	{Str: "\u0633\u0646", A: -1, B: 3, F: nil},
	{Str: "\u0633\u064A", A: -1, B: 1, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "\u062A\u0633\u062A", A: -1, B: 1, F: nil},
	{Str: "\u0646\u0633\u062A", A: -1, B: 1, F: nil},
	{Str: "\u064A\u0633\u062A", A: -1, B: 1, F: nil},
}

var A_10 = []*snowballRuntime.Among{
	{Str: "\u0643", A: -1, B: 1, F: nil},
	{Str: "\u0643\u0645", A: -1, B: 2, F: nil},
	{Str: "\u0647\u0645", A: -1, B: 2, F: nil},
	{Str: "\u0647\u0646", A: -1, B: 2, F: nil},
	{Str: "\u0647", A: -1, B: 1, F: nil},
	{Str: "\u064A", A: -1, B: 1, F: nil},
	{Str: "\u0643\u0645\u0627", A: -1, B: 3, F: nil},
	{Str: "\u0647\u0645\u0627", A: -1, B: 3, F: nil},
	{Str: "\u0646\u0627", A: -1, B: 2, F: nil},
	{Str: "\u0647\u0627", A: -1, B: 2, F: nil},
}

var A_11 = []*snowballRuntime.Among{
	{Str: "\u0648", A: -1, B: 1, F: nil},
	{Str: "\u064A", A: -1, B: 1, F: nil},
	{Str: "\u0627", A: -1, B: 1, F: nil},
}

var A_12 = []*snowballRuntime.Among{
	{Str: "\u0643", A: -1, B: 1, F: nil},
	{Str: "\u0643\u0645", A: -1, B: 2, F: nil},
	{Str: "\u0647\u0645", A: -1, B: 2, F: nil},
	{Str: "\u0643\u0646", A: -1, B: 2, F: nil},
	{Str: "\u0647\u0646", A: -1, B: 2, F: nil},
	{Str: "\u0647", A: -1, B: 1, F: nil},
	{Str: "\u0643\u0645\u0648", A: -1, B: 3, F: nil},
	{Str: "\u0646\u064A", A: -1, B: 2, F: nil},
	{Str: "\u0643\u0645\u0627", A: -1, B: 3, F: nil},
	{Str: "\u0647\u0645\u0627", A: -1, B: 3, F: nil},
	{Str: "\u0646\u0627", A: -1, B: 2, F: nil},
	{Str: "\u0647\u0627", A: -1, B: 2, F: nil},
}

var A_13 = []*snowballRuntime.Among{
	{Str: "\u0646", A: -1, B: 1, F: nil},
	{Str: "\u0648\u0646", A: 0, B: 3, F: nil},
	{Str: "\u064A\u0646", A: 0, B: 3, F: nil},
	{Str: "\u0627\u0646", A: 0, B: 3, F: nil},
	{Str: "\u062A\u0646", A: 0, B: 2, F: nil},
	{Str: "\u064A", A: -1, B: 1, F: nil},
	{Str: "\u0627", A: -1, B: 1, F: nil},
	{Str: "\u062A\u0645\u0627", A: 6, B: 3, F: nil},
	{Str: "\u0646\u0627", A: 6, B: 2, F: nil},
	{Str: "\u062A\u0627", A: 6, B: 2, F: nil},
	{Str: "\u062A", A: -1, B: 1, F: nil},
}

var A_14 = []*snowballRuntime.Among{
	{Str: "\u062A\u0645", A: -1, B: 1, F: nil},
	{Str: "\u0648\u0627", A: -1, B: 1, F: nil},
}

var A_15 = []*snowballRuntime.Among{
	{Str: "\u0648", A: -1, B: 1, F: nil},
	{Str: "\u062A\u0645\u0648", A: 0, B: 2, F: nil},
}

type Context struct {
}

func r_Suffix_Noun_Step2a(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	env.Ket = env.Cursor
	if env.FindAmongB(A_11, context) == 0 {
		return false
	}
	env.Bra = env.Cursor
	if snowballRuntime.RuneCountInString(env.Current()) < 5 {
		return false
	}
	env.SliceDel()
	return true
}

func r_Suffix_Noun_Step2b(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	env.Ket = env.Cursor
	if !env.EqSB("\u0627\u062A") {
		return false
	}
	env.Bra = env.Cursor
	if snowballRuntime.RuneCountInString(env.Current()) < 5 {
		return false
	}
	env.SliceDel()
	return true
}

func r_Suffix_Noun_Step2c1(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	env.Ket = env.Cursor
	if !env.EqSB("\u062A") {
		return false
	}
	env.Bra = env.Cursor
	if snowballRuntime.RuneCountInString(env.Current()) < 4 {
		return false
	}
	env.SliceDel()
	return true
}

func r_Suffix_Verb_Step2a(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
	var among_var int32
	env.Ket = env.Cursor
	among_var = env.FindAmongB(A_13, context)
	if among_var == 0 {
		return false
	}
	env.Bra = env.Cursor
	switch among_var {
	case 1:
		if snowballRuntime.RuneCountInString(env.Current()) < 4 {
			return false
		}
		env.SliceDel()
	case 2:
		if snowballRuntime.RuneCountInString(env.Current()) < 5 {
			return false
		}
		env.SliceDel()
	case 3:
		if snowballRuntime.RuneCountInString(env.Current()) < 6 {
			return false
		}
		env.SliceDel()
	}
	return true
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var b_is_defined bool
	var b_is_verb bool
	var b_is_noun bool
	b_is_noun = true
	b_is_verb = true
	b_is_defined = false
	var v_1 = env.Cursor
lab0:
	for {
		env.Bra = env.Cursor
		among_var = env.FindAmong(A_3, context)
		if among_var == 0 {
			break lab0
		}
		env.Ket = env.Cursor
		switch among_var {
		case 1:
			if snowballRuntime.RuneCountInString(env.Current()) < 5 {
				break lab0
			}
			b_is_noun = true
			b_is_verb = false
			b_is_defined = true
		case 2:
			if snowballRuntime.RuneCountInString(env.Current()) < 4 {
				break lab0
			}
			b_is_noun = true
			b_is_verb = false
			b_is_defined = true
		}
		break lab0
	}
	env.Cursor = v_1
lab1:
	for {
		var v_2 = env.Cursor
	lab2:
		for {
		replab3:
			for {
				var v_3 = env.Cursor
			lab4:
				for range [2]struct{}{} {
				lab5:
					for {
						var v_4 = env.Cursor
					lab6:
						for {
							env.Bra = env.Cursor
							among_var = env.FindAmong(A_0, context)
							if among_var == 0 {
								break lab6
							}
							env.Ket = env.Cursor
							switch among_var {
							case 1:
								env.SliceDel()
							case 2:
								env.SliceFrom("0")
							case 3:
								env.SliceFrom("1")
							case 4:
								env.SliceFrom("2")
							case 5:
								env.SliceFrom("3")
							case 6:
								env.SliceFrom("4")
							case 7:
								env.SliceFrom("5")
							case 8:
								env.SliceFrom("6")
							case 9:
								env.SliceFrom("7")
							case 10:
								env.SliceFrom("8")
							case 11:
								env.SliceFrom("9")
							case 12:
								env.SliceFrom("\u0621")
							case 13:
								env.SliceFrom("\u0623")
							case 14:
								env.SliceFrom("\u0625")
							case 15:
								env.SliceFrom("\u0626")
							case 16:
								env.SliceFrom("\u0622")
							case 17:
								env.SliceFrom("\u0624")
							case 18:
								env.SliceFrom("\u0627")
							case 19:
								env.SliceFrom("\u0628")
							case 20:
								env.SliceFrom("\u0629")
							case 21:
								env.SliceFrom("\u062A")
							case 22:
								env.SliceFrom("\u062B")
							case 23:
								env.SliceFrom("\u062C")
							case 24:
								env.SliceFrom("\u062D")
							case 25:
								env.SliceFrom("\u062E")
							case 26:
								env.SliceFrom("\u062F")
							case 27:
								env.SliceFrom("\u0630")
							case 28:
								env.SliceFrom("\u0631")
							case 29:
								env.SliceFrom("\u0632")
							case 30:
								env.SliceFrom("\u0633")
							case 31:
								env.SliceFrom("\u0634")
							case 32:
								env.SliceFrom("\u0635")
							case 33:
								env.SliceFrom("\u0636")
							case 34:
								env.SliceFrom("\u0637")
							case 35:
								env.SliceFrom("\u0638")
							case 36:
								env.SliceFrom("\u0639")
							case 37:
								env.SliceFrom("\u063A")
							case 38:
								env.SliceFrom("\u0641")
							case 39:
								env.SliceFrom("\u0642")
							case 40:
								env.SliceFrom("\u0643")
							case 41:
								env.SliceFrom("\u0644")
							case 42:
								env.SliceFrom("\u0645")
							case 43:
								env.SliceFrom("\u0646")
							case 44:
								env.SliceFrom("\u0647")
							case 45:
								env.SliceFrom("\u0648")
							case 46:
								env.SliceFrom("\u0649")
							case 47:
								env.SliceFrom("\u064A")
							case 48:
								env.SliceFrom("\u0644\u0627")
							case 49:
								env.SliceFrom("\u0644\u0623")
							case 50:
								env.SliceFrom("\u0644\u0625")
							case 51:
								env.SliceFrom("\u0644\u0622")
							}
							break lab5
						}
						env.Cursor = v_4
						if env.Cursor >= env.Limit {
							break lab4
						}
						env.NextChar()
						break lab5
					}
					continue replab3
				}
				env.Cursor = v_3
				break replab3
			}
			break lab2
		}
		env.Cursor = v_2
		break lab1
	}
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_5 = env.Limit - env.Cursor
lab7:
	for {
	lab8:
		for {
			var v_6 = env.Limit - env.Cursor
		lab9:
			for {
				if !b_is_verb {
					break lab9
				}
			lab10:
				for {
					var v_7 = env.Limit - env.Cursor
				lab11:
					for {
						var v_8 = 1
					replab12:
						for {
							var v_9 = env.Limit - env.Cursor
						lab13:
							for range [2]struct{}{} {
								env.Ket = env.Cursor
								among_var = env.FindAmongB(A_12, context)
								if among_var == 0 {
									break lab13
								}
								env.Bra = env.Cursor
								switch among_var {
								case 1:
									if snowballRuntime.RuneCountInString(env.Current()) < 4 {
										break lab13
									}
									env.SliceDel()
								case 2:
									if snowballRuntime.RuneCountInString(env.Current()) < 5 {
										break lab13
									}
									env.SliceDel()
								case 3:
									if snowballRuntime.RuneCountInString(env.Current()) < 6 {
										break lab13
									}
									env.SliceDel()
								}
								v_8--
								continue replab12
							}
							env.Cursor = env.Limit - v_9
							break replab12
						}
						if v_8 > 0 {
							break lab11
						}
					lab14:
						for {
							var v_10 = env.Limit - env.Cursor
						lab15:
							for {
								if !r_Suffix_Verb_Step2a(env, context) {
									break lab15
								}
								break lab14
							}
							env.Cursor = env.Limit - v_10
						lab16:
							for {
								env.Ket = env.Cursor
								among_var = env.FindAmongB(A_15, context)
								if among_var == 0 {
									break lab16
								}
								env.Bra = env.Cursor
								switch among_var {
								case 1:
									if snowballRuntime.RuneCountInString(env.Current()) < 4 {
										break lab16
									}
									env.SliceDel()
								case 2:
									if snowballRuntime.RuneCountInString(env.Current()) < 6 {
										break lab16
									}
									env.SliceDel()
								}
								break lab14
							}
							env.Cursor = env.Limit - v_10
							if env.Cursor <= env.LimitBackward {
								break lab11
							}
							env.PrevChar()
							break lab14
						}
						break lab10
					}
					env.Cursor = env.Limit - v_7
				lab17:
					for {
						env.Ket = env.Cursor
						if env.FindAmongB(A_14, context) == 0 {
							break lab17
						}
						env.Bra = env.Cursor
						if snowballRuntime.RuneCountInString(env.Current()) < 5 {
							break lab17
						}
						env.SliceDel()
						break lab10
					}
					env.Cursor = env.Limit - v_7
					if !r_Suffix_Verb_Step2a(env, context) {
						break lab9
					}
					break lab10
				}
				break lab8
			}
			env.Cursor = env.Limit - v_6
		lab18:
			for {
				if !b_is_noun {
					break lab18
				}
				var v_11 = env.Limit - env.Cursor
			lab19:
				for {
				lab20:
					for {
						var v_12 = env.Limit - env.Cursor
					lab21:
						for {
							env.Ket = env.Cursor
							if !env.EqSB("\u0629") {
								break lab21
							}
							env.Bra = env.Cursor
							if snowballRuntime.RuneCountInString(env.Current()) < 4 {
								break lab21
							}
							env.SliceDel()
							break lab20
						}
						env.Cursor = env.Limit - v_12
					lab22:
						for {
							if b_is_defined {
								break lab22
							}
							env.Ket = env.Cursor
							among_var = env.FindAmongB(A_10, context)
							if among_var == 0 {
								break lab22
							}
							env.Bra = env.Cursor
							switch among_var {
							case 1:
								if snowballRuntime.RuneCountInString(env.Current()) < 4 {
									break lab22
								}
								env.SliceDel()
							case 2:
								if snowballRuntime.RuneCountInString(env.Current()) < 5 {
									break lab22
								}
								env.SliceDel()
							case 3:
								if snowballRuntime.RuneCountInString(env.Current()) < 6 {
									break lab22
								}
								env.SliceDel()
							}
						lab23:
							for {
								var v_13 = env.Limit - env.Cursor
							lab24:
								for {
									if !r_Suffix_Noun_Step2a(env, context) {
										break lab24
									}
									break lab23
								}
								env.Cursor = env.Limit - v_13
							lab25:
								for {
									if !r_Suffix_Noun_Step2b(env, context) {
										break lab25
									}
									break lab23
								}
								env.Cursor = env.Limit - v_13
							lab26:
								for {
									if !r_Suffix_Noun_Step2c1(env, context) {
										break lab26
									}
									break lab23
								}
								env.Cursor = env.Limit - v_13
								if env.Cursor <= env.LimitBackward {
									break lab22
								}
								env.PrevChar()
								break lab23
							}
							break lab20
						}
						env.Cursor = env.Limit - v_12
					lab27:
						for {
							env.Ket = env.Cursor
							if !env.EqSB("\u0646") {
								break lab27
							}
							env.Bra = env.Cursor
							if snowballRuntime.RuneCountInString(env.Current()) < 6 {
								break lab27
							}
							env.SliceDel()
						lab28:
							for {
								var v_14 = env.Limit - env.Cursor
							lab29:
								for {
									if !r_Suffix_Noun_Step2a(env, context) {
										break lab29
									}
									break lab28
								}
								env.Cursor = env.Limit - v_14
							lab30:
								for {
									if !r_Suffix_Noun_Step2b(env, context) {
										break lab30
									}
									break lab28
								}
								env.Cursor = env.Limit - v_14
								if !r_Suffix_Noun_Step2c1(env, context) {
									break lab27
								}
								break lab28
							}
							break lab20
						}
						env.Cursor = env.Limit - v_12
					lab31:
						for {
							if b_is_defined {
								break lab31
							}
							if !r_Suffix_Noun_Step2a(env, context) {
								break lab31
							}
							break lab20
						}
						env.Cursor = env.Limit - v_12
						if !r_Suffix_Noun_Step2b(env, context) {
							env.Cursor = env.Limit - v_11
							break lab19
						}
						break lab20
					}
					break lab19
				}
				env.Ket = env.Cursor
				if !env.EqSB("\u064A") {
					break lab18
				}
				env.Bra = env.Cursor
				if snowballRuntime.RuneCountInString(env.Current()) < 3 {
					break lab18
				}
				env.SliceDel()
				break lab8
			}
			env.Cursor = env.Limit - v_6
			env.Ket = env.Cursor
			if !env.EqSB("\u0649") {
				break lab7
			}
			env.Bra = env.Cursor
			env.SliceFrom("\u064A")
			break lab8
		}
		break lab7
	}
	env.Cursor = env.Limit - v_5
	env.Cursor = env.LimitBackward
	var v_15 = env.Cursor
lab32:
	for {
		var v_16 = env.Cursor
	lab33:
		for {
			env.Bra = env.Cursor
			among_var = env.FindAmong(A_4, context)
			if among_var == 0 {
				env.Cursor = v_16
				break lab33
			}
			env.Ket = env.Cursor
			switch among_var {
			case 1:
				if snowballRuntime.RuneCountInString(env.Current()) < 4 {
					env.Cursor = v_16
					break lab33
				}
				env.SliceFrom("\u0623")
			case 2:
				if snowballRuntime.RuneCountInString(env.Current()) < 4 {
					env.Cursor = v_16
					break lab33
				}
				env.SliceFrom("\u0622")
			case 3:
				if snowballRuntime.RuneCountInString(env.Current()) < 4 {
					env.Cursor = v_16
					break lab33
				}
				env.SliceFrom("\u0627")
			case 4:
				if snowballRuntime.RuneCountInString(env.Current()) < 4 {
					env.Cursor = v_16
					break lab33
				}
				env.SliceFrom("\u0625")
			}
			break lab33
		}
		var v_17 = env.Cursor
	lab34:
		for {
			env.Bra = env.Cursor
			if env.FindAmong(A_5, context) == 0 {
				env.Cursor = v_17
				break lab34
			}
			env.Ket = env.Cursor
			if snowballRuntime.RuneCountInString(env.Current()) < 4 {
				env.Cursor = v_17
				break lab34
			}
		lab35:
			for {
				if !env.EqS("\u0627") {
					break lab35
				}
				env.Cursor = v_17
				break lab34
			}
			env.SliceDel()
			break lab34
		}
	lab36:
		for {
			var v_18 = env.Cursor
		lab37:
			for {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_6, context)
				if among_var == 0 {
					break lab37
				}
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					if snowballRuntime.RuneCountInString(env.Current()) < 6 {
						break lab37
					}
					env.SliceDel()
				case 2:
					if snowballRuntime.RuneCountInString(env.Current()) < 5 {
						break lab37
					}
					env.SliceDel()
				}
				break lab36
			}
			env.Cursor = v_18
		lab38:
			for {
				if !b_is_noun {
					break lab38
				}
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_7, context)
				if among_var == 0 {
					break lab38
				}
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					if snowballRuntime.RuneCountInString(env.Current()) < 4 {
						break lab38
					}
					env.SliceDel()
				case 2:
					if snowballRuntime.RuneCountInString(env.Current()) < 4 {
						break lab38
					}
					env.SliceFrom("\u0628")
				case 3:
					if snowballRuntime.RuneCountInString(env.Current()) < 4 {
						break lab38
					}
					env.SliceFrom("\u0643")
				}
				break lab36
			}
			env.Cursor = v_18
			if !b_is_verb {
				break lab32
			}
			var v_19 = env.Cursor
		lab39:
			for {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_8, context)
				if among_var == 0 {
					env.Cursor = v_19
					break lab39
				}
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					if snowballRuntime.RuneCountInString(env.Current()) < 5 {
						env.Cursor = v_19
						break lab39
					}
					env.SliceFrom("\u064A")
				case 2:
					if snowballRuntime.RuneCountInString(env.Current()) < 5 {
						env.Cursor = v_19
						break lab39
					}
					env.SliceFrom("\u062A")
				case 3:
					if snowballRuntime.RuneCountInString(env.Current()) < 5 {
						env.Cursor = v_19
						break lab39
					}
					env.SliceFrom("\u0646")
				case 4:
					if snowballRuntime.RuneCountInString(env.Current()) < 5 {
						env.Cursor = v_19
						break lab39
					}
					env.SliceFrom("\u0623")
				}
				break lab39
			}
			env.Bra = env.Cursor
			if env.FindAmong(A_9, context) == 0 {
				break lab32
			}
			env.Ket = env.Cursor
			if snowballRuntime.RuneCountInString(env.Current()) < 5 {
				break lab32
			}
			b_is_verb = true
			b_is_noun = false
			env.SliceFrom("\u0627\u0633\u062A")
			break lab36
		}
		break lab32
	}
	env.Cursor = v_15
lab40:
	for {
		var v_20 = env.Cursor
	lab41:
		for {
			env.LimitBackward = env.Cursor
			env.Cursor = env.Limit
			env.Ket = env.Cursor
			if env.FindAmongB(A_1, context) == 0 {
				break lab41
			}
			env.Bra = env.Cursor
			env.SliceFrom("\u0621")
			env.Cursor = env.LimitBackward
			break lab41
		}
		env.Cursor = v_20
		var v_21 = env.Cursor
	lab42:
		for {
		replab43:
			for {
				var v_22 = env.Cursor
			lab44:
				for range [2]struct{}{} {
				lab45:
					for {
						var v_23 = env.Cursor
					lab46:
						for {
							env.Bra = env.Cursor
							among_var = env.FindAmong(A_2, context)
							if among_var == 0 {
								break lab46
							}
							env.Ket = env.Cursor
							switch among_var {
							case 1:
								env.SliceFrom("\u0627")
							case 2:
								env.SliceFrom("\u0648")
							case 3:
								env.SliceFrom("\u064A")
							}
							break lab45
						}
						env.Cursor = v_23
						if env.Cursor >= env.Limit {
							break lab44
						}
						env.NextChar()
						break lab45
					}
					continue replab43
				}
				env.Cursor = v_22
				break replab43
			}
			break lab42
		}
		env.Cursor = v_21
		break lab40
	}
	return true
}
