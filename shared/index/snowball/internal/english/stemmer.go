// Code generated from algorithms/english.sbl by the Snowball compiler; DO NOT EDIT.

// Package english finds the stems of words; see the package snowball.
package english

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "arsen", A: -1, B: -1, F: nil},
	{Str: "commun", A: -1, B: -1, F: nil},
	{Str: "emerg", A: -1, B: -1, F: nil},
	{Str: "gener", A: -1, B: -1, F: nil},
	{Str: "inter", A: -1, B: -1, F: nil},
	{Str: "later", A: -1, B: -1, F: nil},
	{Str: "organ", A: -1, B: -1, F: nil},
	{Str: "past", A: -1, B: -1, F: nil},
	{Str: "univers", A: -1, B: -1, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "'", A: -1, B: 1, F: nil},
	{Str: "'s'", A: 0, B: 1, F: nil},
	{Str: "'s", A: -1, B: 1, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "ied", A: -1, B: 2, F: nil},
	{Str: "s", A: -1, B: 3, F: nil},
	{Str: "ies", A: 1, B: 2, F: nil},
	{Str: "sses", A: 1, B: 1, F: nil},
	{Str: "ss", A: 1, B: -1, F: nil},
	{Str: "us", A: 1, B: -1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "succ", A: -1, B: 1, F: nil},
	{Str: "proc", A: -1, B: 1, F: nil},
	{Str: "exc", A: -1, B: 1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "even", A: -1, B: 2, F: nil},
	{Str: "cann", A: -1, B: 2, F: nil},
	{Str: "inn", A: -1, B: 2, F: nil},
	{Str: "earr", A: -1, B: 2, F: nil},
	{Str: "herr", A: -1, B: 2, F: nil},
	{Str: "out", A: -1, B: 2, F: nil},
	{Str: "y", A: -1, B: 1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: -1, F: nil},
	{Str: "ed", A: 0, B: 2, F: nil},
	{Str: "eed", A: 1, B: 1, F: nil},
	{Str: "ing", A: 0, B: 3, F: nil},
	{Str: "edly", A: 0, B: 2, F: nil},
	{Str: "eedly", A: 4, B: 1, F: nil},
	{Str: "ingly", A: 0, B: 2, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 3, F: nil},
	{Str: "bb", A: 0, B: 2, F: nil},
	{Str: "dd", A: 0, B: 2, F: nil},
	{Str: "ff", A: 0, B: 2, F: nil},
	{Str: "gg", A: 0, B: 2, F: nil},
	{Str: "bl", A: 0, B: 1, F: nil},
	{Str: "mm", A: 0, B: 2, F: nil},
	{Str: "nn", A: 0, B: 2, F: nil},
	{Str: "pp", A: 0, B: 2, F: nil},
	{Str: "rr", A: 0, B: 2, F: nil},
	{Str: "at", A: 0, B: 1, F: nil},
	{Str: "tt", A: 0, B: 2, F: nil},
	{Str: "iz", A: 0, B: 1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "anci", A: -1, B: 3, F: nil},
	{Str: "enci", A: -1, B: 2, F: nil},
	{Str: "ogi", A: -1, B: 14, F: nil},
	{Str: "li", A: -1, B: 16, F: nil},
	{Str: "bli", A: 3, B: 12, F: nil},
	{Str: "abli", A: 4, B: 4, F: nil},
	{Str: "alli", A: 3, B: 8, F: nil},
	{Str: "fulli", A: 3, B: 9, F: nil},
	{Str: "lessli", A: 3, B: 15, F: nil},
	{Str: "ousli", A: 3, B: 10, F: nil},
	{Str: "entli", A: 3, B: 5, F: nil},
	{Str: "aliti", A: -1, B: 8, F: nil},
	{Str: "biliti", A: -1, B: 12, F: nil},
	{Str: "iviti", A: -1, B: 11, F: nil},
	{Str: "tional", A: -1, B: 1, F: nil},
	{Str: "ational", A: 14, B: 7, F: nil},
	{Str: "alism", A: -1, B: 8, F: nil},
	{Str: "ation", A: -1, B: 7, F: nil},
	{Str: "ization", A: 17, B: 6, F: nil},
	{Str: "izer", A: -1, B: 6, F: nil},
	{Str: "ator", A: -1, B: 7, F: nil},
	{Str: "iveness", A: -1, B: 11, F: nil},
	{Str: "fulness", A: -1, B: 9, F: nil},
	{Str: "ousness", A: -1, B: 10, F: nil},
	{Str: "ogist", A: -1, B: 13, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "icate", A: -1, B: 4, F: nil},
	{Str: "ative", A: -1, B: 6, F: nil},
	{Str: "alize", A: -1, B: 3, F: nil},
	{Str: "iciti", A: -1, B: 4, F: nil},
	{Str: "ical", A: -1, B: 4, F: nil},
	{Str: "tional", A: -1, B: 1, F: nil},
	{Str: "ational", A: 5, B: 2, F: nil},
	{Str: "ful", A: -1, B: 5, F: nil},
	{Str: "ness", A: -1, B: 5, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "ic", A: -1, B: 1, F: nil},
	{Str: "ance", A: -1, B: 1, F: nil},
	{Str: "ence", A: -1, B: 1, F: nil},
	{Str: "able", A: -1, B: 1, F: nil},
	{Str: "ible", A: -1, B: 1, F: nil},
	{Str: "ate", A: -1, B: 1, F: nil},
	{Str: "ive", A: -1, B: 1, F: nil},
	{Str: "ize", A: -1, B: 1, F: nil},
	{Str: "iti", A: -1, B: 1, F: nil},
	{Str: "al", A: -1, B: 1, F: nil},
	{Str: "ism", A: -1, B: 1, F: nil},
	{Str: "ion", A: -1, B: 2, F: nil},
	{Str: "er", A: -1, B: 1, F: nil},
	{Str: "ous", A: -1, B: 1, F: nil},
	{Str: "ant", A: -1, B: 1, F: nil},
	{Str: "ent", A: -1, B: 1, F: nil},
	{Str: "ment", A: 15, B: 1, F: nil},
	{Str: "ement", A: 16, B: 1, F: nil},
}

var A_10 = []*snowballRuntime.Among{
	{Str: "e", A: -1, B: 1, F: nil},
	{Str: "l", A: -1, B: 2, F: nil},
}

var A_11 = []*snowballRuntime.Among{
	{Str: "andes", A: -1, B: -1, F: nil},
	{Str: "atlas", A: -1, B: -1, F: nil},
	{Str: "bias", A: -1, B: -1, F: nil},
	{Str: "cosmos", A: -1, B: -1, F: nil},
	{Str: "early", A: -1, B: 6, F: nil},
	{Str: "gently", A: -1, B: 4, F: nil},
	{Str: "howe", A: -1, B: -1, F: nil},
	{Str: "idly", A: -1, B: 3, F: nil},
	{Str: "news", A: -1, B: -1, F: nil},
	{Str: "only", A: -1, B: 7, F: nil},
	{Str: "singly", A: -1, B: 8, F: nil},
	{Str: "skies", A: -1, B: 2, F: nil},
	{Str: "skis", A: -1, B: 1, F: nil},
	{Str: "sky", A: -1, B: -1, F: nil},
	{Str: "ugly", A: -1, B: 5, F: nil},
}

var G_aeo = []byte{17, 64}

var G_v = []byte{17, 65, 16, 1}

var G_v_WXY = []byte{1, 17, 65, 208, 1}

var G_valid_LI = []byte{55, 141, 2}

type Context struct {
}

func r_shortv(env *snowballRuntime.Env, ctx interface{}) bool {
	context := ctx.(*Context)
	_ = context
lab0:
	for {
		var v_1 = env.Limit - env.Cursor
	lab1:
		for {
			if !env.OutGroupingB(G_v_WXY, 89, 121) {
				break lab1
			}
			if !env.InGroupingB(G_v, 97, 121) {
				break lab1
			}
			if !env.OutGroupingB(G_v, 97, 121) {
				break lab1
			}
			break lab0
		}
		env.Cursor = env.Limit - v_1
	lab2:
		for {
			if !env.OutGroupingB(G_v, 97, 121) {
				break lab2
			}
			if !env.InGroupingB(G_v, 97, 121) {
				break lab2
			}
			if env.Cursor > env.LimitBackward {
				break lab2
			}
			break lab0
		}
		env.Cursor = env.Limit - v_1
		if !env.EqSB("past") {
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
	var b_Y_found bool
	var i_p2 int
	var i_p1 int
lab0:
	for {
		var v_1 = env.Cursor
	lab1:
		for {
			env.Bra = env.Cursor
			among_var = env.FindAmong(A_11, context)
			if among_var == 0 {
				break lab1
			}
			env.Ket = env.Cursor
			if env.Cursor < env.Limit {
				break lab1
			}
			switch among_var {
			case 1:
				env.SliceFrom("ski")
			case 2:
				env.SliceFrom("sky")
			case 3:
				env.SliceFrom("idl")
			case 4:
				env.SliceFrom("gentl")
			case 5:
				env.SliceFrom("ugli")
			case 6:
				env.SliceFrom("earli")
			case 7:
				env.SliceFrom("onli")
			case 8:
				env.SliceFrom("singl")
			}
			break lab0
		}
		env.Cursor = v_1
	lab2:
		for {
		lab3:
			for {
				if !env.Hop(3) {
					break lab3
				}
				break lab2
			}
			break lab0
		}
		env.Cursor = v_1
	lab4:
		for {
			b_Y_found = false
			var v_2 = env.Cursor
		lab5:
			for {
				env.Bra = env.Cursor
				if !env.EqS("'") {
					break lab5
				}
				env.Ket = env.Cursor
				env.SliceDel()
				break lab5
			}
			env.Cursor = v_2
			var v_3 = env.Cursor
		lab6:
			for {
				env.Bra = env.Cursor
				if !env.EqS("y") {
					break lab6
				}
				env.Ket = env.Cursor
				env.SliceFrom("Y")
				b_Y_found = true
				break lab6
			}
			env.Cursor = v_3
			var v_4 = env.Cursor
		lab7:
			for {
			replab8:
				for {
					var v_5 = env.Cursor
				lab9:
					for range [2]struct{}{} {
					golab10:
						for {
							var v_6 = env.Cursor
						lab11:
							for {
								if !env.InGrouping(G_v, 97, 121) {
									break lab11
								}
								env.Bra = env.Cursor
								if !env.EqS("y") {
									break lab11
								}
								env.Ket = env.Cursor
								env.Cursor = v_6
								break golab10
							}
							env.Cursor = v_6
							if env.Cursor >= env.Limit {
								break lab9
							}
							env.NextChar()
						}
						env.SliceFrom("Y")
						b_Y_found = true
						continue replab8
					}
					env.Cursor = v_5
					break replab8
				}
				break lab7
			}
			env.Cursor = v_4
			break lab4
		}
	lab12:
		for {
			i_p1 = env.Limit
			i_p2 = env.Limit
			var v_7 = env.Cursor
		lab13:
			for {
			lab14:
				for {
					var v_8 = env.Cursor
				lab15:
					for {
						if env.FindAmong(A_0, context) == 0 {
							break lab15
						}
						break lab14
					}
					env.Cursor = v_8
					if !env.GoOutGrouping(G_v, 97, 121) {
						break lab13
					}
					env.NextChar()
					if !env.GoInGrouping(G_v, 97, 121) {
						break lab13
					}
					env.NextChar()
					break lab14
				}
				i_p1 = env.Cursor
				if !env.GoOutGrouping(G_v, 97, 121) {
					break lab13
				}
				env.NextChar()
				if !env.GoInGrouping(G_v, 97, 121) {
					break lab13
				}
				env.NextChar()
				i_p2 = env.Cursor
				break lab13
			}
			env.Cursor = v_7
			break lab12
		}
		env.LimitBackward = env.Cursor
		env.Cursor = env.Limit
		var v_9 = env.Limit - env.Cursor
	lab16:
		for {
			var v_10 = env.Limit - env.Cursor
		lab17:
			for {
				env.Ket = env.Cursor
				if env.FindAmongB(A_1, context) == 0 {
					env.Cursor = env.Limit - v_10
					break lab17
				}
				env.Bra = env.Cursor
				env.SliceDel()
				break lab17
			}
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_2, context)
			if among_var == 0 {
				break lab16
			}
			env.Bra = env.Cursor
			switch among_var {
			case 1:
				env.SliceFrom("ss")
			case 2:
			lab18:
				for {
					var v_11 = env.Limit - env.Cursor
				lab19:
					for {
						if !env.HopBack(2) {
							break lab19
						}
						env.SliceFrom("i")
						break lab18
					}
					env.Cursor = env.Limit - v_11
					env.SliceFrom("ie")
					break lab18
				}
			case 3:
				if env.Cursor <= env.LimitBackward {
					break lab16
				}
				env.PrevChar()
				if !env.GoOutGroupingB(G_v, 97, 121) {
					break lab16
				}
				env.PrevChar()
				env.SliceDel()
			}
			break lab16
		}
		env.Cursor = env.Limit - v_9
		var v_12 = env.Limit - env.Cursor
	lab20:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_5, context)
			env.Bra = env.Cursor
		lab21:
			for {
				var v_13 = env.Limit - env.Cursor
			lab22:
				for {
					switch among_var {
					case 1:
						var v_14 = env.Limit - env.Cursor
					lab23:
						for {
							if i_p1 > env.Cursor {
								break lab23
							}
						lab24:
							for {
								var v_15 = env.Limit - env.Cursor
							lab25:
								for {
									if env.FindAmongB(A_3, context) == 0 {
										break lab25
									}
									if env.Cursor > env.LimitBackward {
										break lab25
									}
									break lab24
								}
								env.Cursor = env.Limit - v_15
								env.SliceFrom("ee")
								break lab24
							}
							break lab23
						}
						env.Cursor = env.Limit - v_14
					case 2:
						break lab22
					case 3:
						among_var = env.FindAmongB(A_4, context)
						if among_var == 0 {
							break lab22
						}
						switch among_var {
						case 1:
							var v_16 = env.Limit - env.Cursor
							if !env.OutGroupingB(G_v, 97, 121) {
								break lab22
							}
							if env.Cursor > env.LimitBackward {
								break lab22
							}
							env.Cursor = env.Limit - v_16
							env.Bra = env.Cursor
							env.SliceFrom("ie")
						case 2:
							if env.Cursor > env.LimitBackward {
								break lab22
							}
						}
					}
					break lab21
				}
				env.Cursor = env.Limit - v_13
				var v_17 = env.Limit - env.Cursor
				if !env.GoOutGroupingB(G_v, 97, 121) {
					break lab20
				}
				env.PrevChar()
				env.Cursor = env.Limit - v_17
				env.SliceDel()
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				var v_18 = env.Limit - env.Cursor
				among_var = env.FindAmongB(A_6, context)
				switch among_var {
				case 1:
					env.SliceFrom("e")
					break lab20
				case 2:
					var v_19 = env.Limit - env.Cursor
				lab26:
					for {
						if !env.InGroupingB(G_aeo, 97, 111) {
							break lab26
						}
						if env.Cursor > env.LimitBackward {
							break lab26
						}
						break lab20
					}
					env.Cursor = env.Limit - v_19
				case 3:
					if env.Cursor != i_p1 {
						break lab20
					}
					var v_20 = env.Limit - env.Cursor
					if !r_shortv(env, context) {
						break lab20
					}
					env.Cursor = env.Limit - v_20
					env.SliceFrom("e")
					break lab20
				}
				env.Cursor = env.Limit - v_18
				env.Ket = env.Cursor
				if env.Cursor <= env.LimitBackward {
					break lab20
				}
				env.PrevChar()
				env.Bra = env.Cursor
				env.SliceDel()
				break lab21
			}
			break lab20
		}
		env.Cursor = env.Limit - v_12
		var v_21 = env.Limit - env.Cursor
	lab27:
		for {
			env.Ket = env.Cursor
		lab28:
			for {
			lab29:
				for {
					if !env.EqSB("y") {
						break lab29
					}
					break lab28
				}
				if !env.EqSB("Y") {
					break lab27
				}
				break lab28
			}
			env.Bra = env.Cursor
			if !env.OutGroupingB(G_v, 97, 121) {
				break lab27
			}
			if env.Cursor <= env.LimitBackward {
				break lab27
			}
			env.SliceFrom("i")
			break lab27
		}
		env.Cursor = env.Limit - v_21
		var v_22 = env.Limit - env.Cursor
	lab30:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_7, context)
			if among_var == 0 {
				break lab30
			}
			env.Bra = env.Cursor
			if i_p1 > env.Cursor {
				break lab30
			}
			switch among_var {
			case 1:
				env.SliceFrom("tion")
			case 2:
				env.SliceFrom("ence")
			case 3:
				env.SliceFrom("ance")
			case 4:
				env.SliceFrom("able")
			case 5:
				env.SliceFrom("ent")
			case 6:
				env.SliceFrom("ize")
			case 7:
				env.SliceFrom("ate")
			case 8:
				env.SliceFrom("al")
			case 9:
				env.SliceFrom("ful")
			case 10:
				env.SliceFrom("ous")
			case 11:
				env.SliceFrom("ive")
			case 12:
				env.SliceFrom("ble")
			case 13:
				env.SliceFrom("og")
			case 14:
				if !env.EqSB("l") {
					break lab30
				}
				env.SliceFrom("og")
			case 15:
				env.SliceFrom("less")
			case 16:
				if !env.InGroupingB(G_valid_LI, 99, 116) {
					break lab30
				}
				env.SliceDel()
			}
			break lab30
		}
		env.Cursor = env.Limit - v_22
		var v_23 = env.Limit - env.Cursor
	lab31:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_8, context)
			if among_var == 0 {
				break lab31
			}
			env.Bra = env.Cursor
			if i_p1 > env.Cursor {
				break lab31
			}
			switch among_var {
			case 1:
				env.SliceFrom("tion")
			case 2:
				env.SliceFrom("ate")
			case 3:
				env.SliceFrom("al")
			case 4:
				env.SliceFrom("ic")
			case 5:
				env.SliceDel()
			case 6:
				if i_p2 > env.Cursor {
					break lab31
				}
				env.SliceDel()
			}
			break lab31
		}
		env.Cursor = env.Limit - v_23
		var v_24 = env.Limit - env.Cursor
	lab32:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_9, context)
			if among_var == 0 {
				break lab32
			}
			env.Bra = env.Cursor
			if i_p2 > env.Cursor {
				break lab32
			}
			switch among_var {
			case 1:
				env.SliceDel()
			case 2:
			lab33:
				for {
				lab34:
					for {
						if !env.EqSB("s") {
							break lab34
						}
						break lab33
					}
					if !env.EqSB("t") {
						break lab32
					}
					break lab33
				}
				env.SliceDel()
			}
			break lab32
		}
		env.Cursor = env.Limit - v_24
		var v_25 = env.Limit - env.Cursor
	lab35:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_10, context)
			if among_var == 0 {
				break lab35
			}
			env.Bra = env.Cursor
			switch among_var {
			case 1:
			lab36:
				for {
				lab37:
					for {
						if i_p2 > env.Cursor {
							break lab37
						}
						break lab36
					}
					if i_p1 > env.Cursor {
						break lab35
					}
					var v_26 = env.Limit - env.Cursor
				lab38:
					for {
						if !r_shortv(env, context) {
							break lab38
						}
						break lab35
					}
					env.Cursor = env.Limit - v_26
					break lab36
				}
				env.SliceDel()
			case 2:
				if i_p2 > env.Cursor {
					break lab35
				}
				if !env.EqSB("l") {
					break lab35
				}
				env.SliceDel()
			}
			break lab35
		}
		env.Cursor = env.Limit - v_25
		env.Cursor = env.LimitBackward
		var v_27 = env.Cursor
	lab39:
		for {
			if !b_Y_found {
				break lab39
			}
		replab40:
			for {
				var v_28 = env.Cursor
			lab41:
				for range [2]struct{}{} {
				golab42:
					for {
						var v_29 = env.Cursor
					lab43:
						for {
							env.Bra = env.Cursor
							if !env.EqS("Y") {
								break lab43
							}
							env.Ket = env.Cursor
							env.Cursor = v_29
							break golab42
						}
						env.Cursor = v_29
						if env.Cursor >= env.Limit {
							break lab41
						}
						env.NextChar()
					}
					env.SliceFrom("y")
					continue replab40
				}
				env.Cursor = v_28
				break replab40
			}
			break lab39
		}
		env.Cursor = v_27
		break lab0
	}
	return true
}
