// Code generated from algorithms/german.sbl by the Snowball compiler; DO NOT EDIT.

// Package german finds the stems of words; see the package snowball.
package german

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 5, F: nil},
	{Str: "ae", A: 0, B: 2, F: nil},
	{Str: "oe", A: 0, B: 3, F: nil},
	{Str: "qu", A: 0, B: -1, F: nil},
	{Str: "ue", A: 0, B: 4, F: nil},
	{Str: "ß", A: 0, B: 1, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 5, F: nil},
	{Str: "U", A: 0, B: 2, F: nil},
	{Str: "Y", A: 0, B: 1, F: nil},
	{Str: "ä", A: 0, B: 3, F: nil},
	{Str: "ö", A: 0, B: 4, F: nil},
	{Str: "ü", A: 0, B: 2, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "e", A: -1, B: 3, F: nil},
	{Str: "em", A: -1, B: 1, F: nil},
	{Str: "en", A: -1, B: 3, F: nil},
	{Str: "erinnen", A: 2, B: 2, F: nil},
	{Str: "erin", A: -1, B: 2, F: nil},
	{Str: "ln", A: -1, B: 5, F: nil},
	{Str: "ern", A: -1, B: 2, F: nil},
	{Str: "er", A: -1, B: 2, F: nil},
	{Str: "s", A: -1, B: 4, F: nil},
	{Str: "es", A: 8, B: 3, F: nil},
	{Str: "lns", A: 8, B: 5, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "tick", A: -1, B: -1, F: nil},
	{Str: "plan", A: -1, B: -1, F: nil},
	{Str: "geordn", A: -1, B: -1, F: nil},
	{Str: "intern", A: -1, B: -1, F: nil},
	{Str: "tr", A: -1, B: -1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "en", A: -1, B: 1, F: nil},
	{Str: "er", A: -1, B: 1, F: nil},
	{Str: "et", A: -1, B: 3, F: nil},
	{Str: "st", A: -1, B: 2, F: nil},
	{Str: "est", A: 3, B: 1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "ig", A: -1, B: 1, F: nil},
	{Str: "lich", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "end", A: -1, B: 1, F: nil},
	{Str: "ig", A: -1, B: 2, F: nil},
	{Str: "ung", A: -1, B: 1, F: nil},
	{Str: "lich", A: -1, B: 3, F: nil},
	{Str: "isch", A: -1, B: 2, F: nil},
	{Str: "ik", A: -1, B: 2, F: nil},
	{Str: "heit", A: -1, B: 3, F: nil},
	{Str: "keit", A: -1, B: 4, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "'", A: -1, B: 1, F: nil},
	{Str: "'sch", A: -1, B: 1, F: nil},
	{Str: "'s", A: -1, B: 1, F: nil},
}

var G_v = []byte{17, 65, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 32, 8}

var G_et_ending = []byte{1, 128, 198, 227, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128}

var G_s_ending = []byte{117, 30, 5}

var G_st_ending = []byte{117, 30, 4}

type Context struct {
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var i_x int
	var i_p2 int
	var i_p1 int
	var v_1 = env.Cursor
lab0:
	for {
		var v_2 = env.Cursor
	replab1:
		for {
			var v_3 = env.Cursor
		lab2:
			for range [2]struct{}{} {
			golab3:
				for {
					var v_4 = env.Cursor
				lab4:
					for {
						if !env.InGrouping(G_v, 97, 252) {
							break lab4
						}
						env.Bra = env.Cursor
					lab5:
						for {
							var v_5 = env.Cursor
						lab6:
							for {
								if !env.EqS("u") {
									break lab6
								}
								env.Ket = env.Cursor
								if !env.InGrouping(G_v, 97, 252) {
									break lab6
								}
								env.SliceFrom("U")
								break lab5
							}
							env.Cursor = v_5
							if !env.EqS("y") {
								break lab4
							}
							env.Ket = env.Cursor
							if !env.InGrouping(G_v, 97, 252) {
								break lab4
							}
							env.SliceFrom("Y")
							break lab5
						}
						env.Cursor = v_4
						break golab3
					}
					env.Cursor = v_4
					if env.Cursor >= env.Limit {
						break lab2
					}
					env.NextChar()
				}
				continue replab1
			}
			env.Cursor = v_3
			break replab1
		}
		env.Cursor = v_2
	replab7:
		for {
			var v_6 = env.Cursor
		lab8:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_0, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("ss")
				case 2:
					env.SliceFrom("ä")
				case 3:
					env.SliceFrom("ö")
				case 4:
					env.SliceFrom("ü")
				case 5:
					if env.Cursor >= env.Limit {
						break lab8
					}
					env.NextChar()
				}
				continue replab7
			}
			env.Cursor = v_6
			break replab7
		}
		break lab0
	}
	env.Cursor = v_1
	var v_7 = env.Cursor
lab9:
	for {
		i_p1 = env.Limit
		i_p2 = env.Limit
		var v_8 = env.Cursor
		if !env.Hop(3) {
			break lab9
		}
		i_x = env.Cursor
		env.Cursor = v_8
		if !env.GoOutGrouping(G_v, 97, 252) {
			break lab9
		}
		env.NextChar()
		if !env.GoInGrouping(G_v, 97, 252) {
			break lab9
		}
		env.NextChar()
		i_p1 = env.Cursor
	lab10:
		for {
			if i_p1 >= i_x {
				break lab10
			}
			i_p1 = i_x
			break lab10
		}
		if !env.GoOutGrouping(G_v, 97, 252) {
			break lab9
		}
		env.NextChar()
		if !env.GoInGrouping(G_v, 97, 252) {
			break lab9
		}
		env.NextChar()
		i_p2 = env.Cursor
		break lab9
	}
	env.Cursor = v_7
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
lab11:
	for {
		var v_9 = env.Limit - env.Cursor
	lab12:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_2, context)
			if among_var == 0 {
				break lab12
			}
			env.Bra = env.Cursor
			if i_p1 > env.Cursor {
				break lab12
			}
			switch among_var {
			case 1:
			lab13:
				for {
					if !env.EqSB("syst") {
						break lab13
					}
					break lab12
				}
				env.SliceDel()
			case 2:
				env.SliceDel()
			case 3:
				env.SliceDel()
				var v_10 = env.Limit - env.Cursor
			lab14:
				for {
					env.Ket = env.Cursor
					if !env.EqSB("s") {
						env.Cursor = env.Limit - v_10
						break lab14
					}
					env.Bra = env.Cursor
					if !env.EqSB("nis") {
						env.Cursor = env.Limit - v_10
						break lab14
					}
					env.SliceDel()
					break lab14
				}
			case 4:
				if !env.InGroupingB(G_s_ending, 98, 116) {
					break lab12
				}
				env.SliceDel()
			case 5:
				env.SliceFrom("l")
			}
			break lab12
		}
		env.Cursor = env.Limit - v_9
		var v_11 = env.Limit - env.Cursor
	lab15:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_4, context)
			if among_var == 0 {
				break lab15
			}
			env.Bra = env.Cursor
			if i_p1 > env.Cursor {
				break lab15
			}
			switch among_var {
			case 1:
				env.SliceDel()
			case 2:
				if !env.InGroupingB(G_st_ending, 98, 116) {
					break lab15
				}
				if !env.HopBack(3) {
					break lab15
				}
				env.SliceDel()
			case 3:
				var v_12 = env.Limit - env.Cursor
				if !env.InGroupingB(G_et_ending, 85, 228) {
					break lab15
				}
				env.Cursor = env.Limit - v_12
				var v_13 = env.Limit - env.Cursor
			lab16:
				for {
					if env.FindAmongB(A_3, context) == 0 {
						break lab16
					}
					break lab15
				}
				env.Cursor = env.Limit - v_13
				env.SliceDel()
			}
			break lab15
		}
		env.Cursor = env.Limit - v_11
		var v_14 = env.Limit - env.Cursor
	lab17:
		for {
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_6, context)
			if among_var == 0 {
				break lab17
			}
			env.Bra = env.Cursor
			if i_p2 > env.Cursor {
				break lab17
			}
			switch among_var {
			case 1:
				env.SliceDel()
				var v_15 = env.Limit - env.Cursor
			lab18:
				for {
					env.Ket = env.Cursor
					if !env.EqSB("ig") {
						env.Cursor = env.Limit - v_15
						break lab18
					}
					env.Bra = env.Cursor
				lab19:
					for {
						if !env.EqSB("e") {
							break lab19
						}
						env.Cursor = env.Limit - v_15
						break lab18
					}
					if i_p2 > env.Cursor {
						env.Cursor = env.Limit - v_15
						break lab18
					}
					env.SliceDel()
					break lab18
				}
			case 2:
			lab20:
				for {
					if !env.EqSB("e") {
						break lab20
					}
					break lab17
				}
				env.SliceDel()
			case 3:
				env.SliceDel()
				var v_16 = env.Limit - env.Cursor
			lab21:
				for {
					env.Ket = env.Cursor
				lab22:
					for {
					lab23:
						for {
							if !env.EqSB("er") {
								break lab23
							}
							break lab22
						}
						if !env.EqSB("en") {
							env.Cursor = env.Limit - v_16
							break lab21
						}
						break lab22
					}
					env.Bra = env.Cursor
					if i_p1 > env.Cursor {
						env.Cursor = env.Limit - v_16
						break lab21
					}
					env.SliceDel()
					break lab21
				}
			case 4:
				env.SliceDel()
				var v_17 = env.Limit - env.Cursor
			lab24:
				for {
					env.Ket = env.Cursor
					if env.FindAmongB(A_5, context) == 0 {
						env.Cursor = env.Limit - v_17
						break lab24
					}
					env.Bra = env.Cursor
					if i_p2 > env.Cursor {
						env.Cursor = env.Limit - v_17
						break lab24
					}
					env.SliceDel()
					break lab24
				}
			}
			break lab17
		}
		env.Cursor = env.Limit - v_14
		var v_18 = env.Limit - env.Cursor
	lab25:
		for {
			env.Ket = env.Cursor
			if env.FindAmongB(A_7, context) == 0 {
				break lab25
			}
			env.Bra = env.Cursor
			if env.Cursor <= env.LimitBackward {
				break lab25
			}
			env.PrevChar()
			if env.Cursor <= env.LimitBackward {
				break lab25
			}
			env.SliceDel()
			break lab25
		}
		env.Cursor = env.Limit - v_18
		break lab11
	}
	env.Cursor = env.LimitBackward
	var v_19 = env.Cursor
lab26:
	for {
	replab27:
		for {
			var v_20 = env.Cursor
		lab28:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_1, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("y")
				case 2:
					env.SliceFrom("u")
				case 3:
					env.SliceFrom("a")
				case 4:
					env.SliceFrom("o")
				case 5:
					if env.Cursor >= env.Limit {
						break lab28
					}
					env.NextChar()
				}
				continue replab27
			}
			env.Cursor = v_20
			break replab27
		}
		break lab26
	}
	env.Cursor = v_19
	return true
}
