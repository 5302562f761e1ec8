// Code generated from algorithms/french.sbl by the Snowball compiler; DO NOT EDIT.

// Package french finds the stems of words; see the package snowball.
package french

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "col", A: -1, B: -1, F: nil},
	{Str: "ni", A: -1, B: 1, F: nil},
	{Str: "par", A: -1, B: -1, F: nil},
	{Str: "tap", A: -1, B: -1, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 7, F: nil},
	{Str: "H", A: 0, B: 6, F: nil},
	{Str: "He", A: 1, B: 4, F: nil},
	{Str: "Hi", A: 1, B: 5, F: nil},
	{Str: "I", A: 0, B: 1, F: nil},
	{Str: "U", A: 0, B: 2, F: nil},
	{Str: "Y", A: 0, B: 3, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "iqU", A: -1, B: 3, F: nil},
	{Str: "abl", A: -1, B: 3, F: nil},
	{Str: "Ièr", A: -1, B: 4, F: nil},
	{Str: "ièr", A: -1, B: 4, F: nil},
	{Str: "eus", A: -1, B: 2, F: nil},
	{Str: "iv", A: -1, B: 1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "ic", A: -1, B: 2, F: nil},
	{Str: "abil", A: -1, B: 1, F: nil},
	{Str: "iv", A: -1, B: 3, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "iqUe", A: -1, B: 1, F: nil},
	{Str: "atrice", A: -1, B: 2, F: nil},
	{Str: "ance", A: -1, B: 1, F: nil},
	{Str: "ence", A: -1, B: 5, F: nil},
	{Str: "logie", A: -1, B: 3, F: nil},
	{Str: "able", A: -1, B: 1, F: nil},
	{Str: "isme", A: -1, B: 1, F: nil},
	{Str: "euse", A: -1, B: 12, F: nil},
	{Str: "iste", A: -1, B: 1, F: nil},
	{Str: "ive", A: -1, B: 8, F: nil},
	{Str: "if", A: -1, B: 8, F: nil},
	{Str: "usion", A: -1, B: 4, F: nil},
	{Str: "ation", A: -1, B: 2, F: nil},
	{Str: "ution", A: -1, B: 4, F: nil},
	{Str: "ateur", A: -1, B: 2, F: nil},
	{Str: "iqUes", A: -1, B: 1, F: nil},
	{Str: "atrices", A: -1, B: 2, F: nil},
	{Str: "ances", A: -1, B: 1, F: nil},
	{Str: "ences", A: -1, B: 5, F: nil},
	{Str: "logies", A: -1, B: 3, F: nil},
	{Str: "ables", A: -1, B: 1, F: nil},
	{Str: "ismes", A: -1, B: 1, F: nil},
	{Str: "euses", A: -1, B: 12, F: nil},
	{Str: "istes", A: -1, B: 1, F: nil},
	{Str: "ives", A: -1, B: 8, F: nil},
	{Str: "ifs", A: -1, B: 8, F: nil},
	{Str: "usions", A: -1, B: 4, F: nil},
	{Str: "ations", A: -1, B: 2, F: nil},
	{Str: "utions", A: -1, B: 4, F: nil},
	{Str: "ateurs", A: -1, B: 2, F: nil},
	{Str: "ments", A: -1, B: 16, F: nil},
	{Str: "ements", A: 30, B: 6, F: nil},
	{Str: "issements", A: 31, B: 13, F: nil},
	{Str: "ités", A: -1, B: 7, F: nil},
	{Str: "ment", A: -1, B: 16, F: nil},
	{Str: "ement", A: 34, B: 6, F: nil},
	{Str: "issement", A: 35, B: 13, F: nil},
	{Str: "amment", A: 34, B: 14, F: nil},
	{Str: "emment", A: 34, B: 15, F: nil},
	{Str: "aux", A: -1, B: 10, F: nil},
	{Str: "eaux", A: 39, B: 9, F: nil},
	{Str: "eux", A: -1, B: 1, F: nil},
	{Str: "oux", A: -1, B: 11, F: nil},
	{Str: "ité", A: -1, B: 7, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "ira", A: -1, B: 1, F: nil},
	{Str: "ie", A: -1, B: 1, F: nil},
	{Str: "isse", A: -1, B: 1, F: nil},
	{Str: "issante", A: -1, B: 1, F: nil},
	{Str: "i", A: -1, B: 1, F: nil},
	{Str: "irai", A: 4, B: 1, F: nil},
	{Str: "ir", A: -1, B: 1, F: nil},
	{Str: "iras", A: -1, B: 1, F: nil},
	{Str: "ies", A: -1, B: 1, F: nil},
	{Str: "îmes", A: -1, B: 1, F: nil},
	{Str: "isses", A: -1, B: 1, F: nil},
	{Str: "issantes", A: -1, B: 1, F: nil},
	{Str: "îtes", A: -1, B: 1, F: nil},
	{Str: "is", A: -1, B: 1, F: nil},
	{Str: "irais", A: 13, B: 1, F: nil},
	{Str: "issais", A: 13, B: 1, F: nil},
	{Str: "irions", A: -1, B: 1, F: nil},
	{Str: "issions", A: -1, B: 1, F: nil},
	{Str: "irons", A: -1, B: 1, F: nil},
	{Str: "issons", A: -1, B: 1, F: nil},
	{Str: "issants", A: -1, B: 1, F: nil},
	{Str: "it", A: -1, B: 1, F: nil},
	{Str: "irait", A: 21, B: 1, F: nil},
	{Str: "issait", A: 21, B: 1, F: nil},
	{Str: "issant", A: -1, B: 1, F: nil},
	{Str: "iraIent", A: -1, B: 1, F: nil},
	{Str: "issaIent", A: -1, B: 1, F: nil},
	{Str: "irent", A: -1, B: 1, F: nil},
	{Str: "issent", A: -1, B: 1, F: nil},
	{Str: "iront", A: -1, B: 1, F: nil},
	{Str: "ît", A: -1, B: 1, F: nil},
	{Str: "iriez", A: -1, B: 1, F: nil},
	{Str: "issiez", A: -1, B: 1, F: nil},
	{Str: "irez", A: -1, B: 1, F: nil},
	{Str: "issez", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "al", A: -1, B: 1, F: nil},
	{Str: "épl", A: -1, B: -1, F: nil},
	{Str: "auv", A: -1, B: -1, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "a", A: -1, B: 3, F: nil},
	{Str: "era", A: 0, B: 2, F: nil},
	{Str: "aise", A: -1, B: 4, F: nil},
	{Str: "asse", A: -1, B: 3, F: nil},
	{Str: "ante", A: -1, B: 3, F: nil},
	{Str: "ée", A: -1, B: 2, F: nil},
	{Str: "ai", A: -1, B: 3, F: nil},
	{Str: "erai", A: 6, B: 2, F: nil},
	{Str: "er", A: -1, B: 2, F: nil},
	{Str: "as", A: -1, B: 3, F: nil},
	{Str: "eras", A: 9, B: 2, F: nil},
	{Str: "âmes", A: -1, B: 3, F: nil},
	{Str: "aises", A: -1, B: 4, F: nil},
	{Str: "asses", A: -1, B: 3, F: nil},
	{Str: "antes", A: -1, B: 3, F: nil},
	{Str: "âtes", A: -1, B: 3, F: nil},
	{Str: "ées", A: -1, B: 2, F: nil},
	{Str: "ais", A: -1, B: 4, F: nil},
	{Str: "eais", A: 17, B: 2, F: nil},
	{Str: "erais", A: 17, B: 2, F: nil},
	{Str: "ions", A: -1, B: 1, F: nil},
	{Str: "erions", A: 20, B: 2, F: nil},
	{Str: "assions", A: 20, B: 3, F: nil},
	{Str: "erons", A: -1, B: 2, F: nil},
	{Str: "ants", A: -1, B: 3, F: nil},
	{Str: "és", A: -1, B: 2, F: nil},
	{Str: "ait", A: -1, B: 3, F: nil},
	{Str: "erait", A: 26, B: 2, F: nil},
	{Str: "ant", A: -1, B: 3, F: nil},
	{Str: "aIent", A: -1, B: 3, F: nil},
	{Str: "eraIent", A: 29, B: 2, F: nil},
	{Str: "èrent", A: -1, B: 2, F: nil},
	{Str: "assent", A: -1, B: 3, F: nil},
	{Str: "eront", A: -1, B: 2, F: nil},
	{Str: "ât", A: -1, B: 3, F: nil},
	{Str: "ez", A: -1, B: 2, F: nil},
	{Str: "iez", A: 35, B: 2, F: nil},
	{Str: "eriez", A: 36, B: 2, F: nil},
	{Str: "assiez", A: 36, B: 3, F: nil},
	{Str: "erez", A: 35, B: 2, F: nil},
	{Str: "é", A: -1, B: 2, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "e", A: -1, B: 3, F: nil},
	{Str: "Ière", A: 0, B: 2, F: nil},
	{Str: "ière", A: 0, B: 2, F: nil},
	{Str: "ion", A: -1, B: 1, F: nil},
	{Str: "Ier", A: -1, B: 2, F: nil},
	{Str: "ier", A: -1, B: 2, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "ell", A: -1, B: -1, F: nil},
	{Str: "eill", A: -1, B: -1, F: nil},
	{Str: "enn", A: -1, B: -1, F: nil},
	{Str: "onn", A: -1, B: -1, F: nil},
	{Str: "ett", A: -1, B: -1, F: nil},
}

var G_v = []byte{17, 65, 16, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 130, 103, 8, 5}

var G_oux_ending = []byte{65, 85}

var G_elision_char = []byte{131, 14, 131}

var G_keep_with_s = []byte{1, 65, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128}

type Context struct {
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var i_p2 int
	var i_p1 int
	var i_pV int
	var v_1 = env.Cursor
lab0:
	for {
		env.Bra = env.Cursor
	lab1:
		for {
		lab2:
			for {
				if !env.InGrouping(G_elision_char, 99, 122) {
					break lab2
				}
				break lab1
			}
			if !env.EqS("qu") {
				break lab0
			}
			break lab1
		}
		if !env.EqS("'") {
			break lab0
		}
		env.Ket = env.Cursor
		if env.Cursor >= env.Limit {
			break lab0
		}
		env.SliceDel()
		break lab0
	}
	env.Cursor = v_1
	var v_2 = env.Cursor
lab3:
	for {
	replab4:
		for {
			var v_3 = env.Cursor
		lab5:
			for range [2]struct{}{} {
			golab6:
				for {
					var v_4 = env.Cursor
				lab7:
					for {
					lab8:
						for {
							var v_5 = env.Cursor
						lab9:
							for {
								if !env.InGrouping(G_v, 97, 251) {
									break lab9
								}
								env.Bra = env.Cursor
							lab10:
								for {
									var v_6 = env.Cursor
								lab11:
									for {
										if !env.EqS("u") {
											break lab11
										}
										env.Ket = env.Cursor
										if !env.InGrouping(G_v, 97, 251) {
											break lab11
										}
										env.SliceFrom("U")
										break lab10
									}
									env.Cursor = v_6
								lab12:
									for {
										if !env.EqS("i") {
											break lab12
										}
										env.Ket = env.Cursor
										if !env.InGrouping(G_v, 97, 251) {
											break lab12
										}
										env.SliceFrom("I")
										break lab10
									}
									env.Cursor = v_6
									if !env.EqS("y") {
										break lab9
									}
									env.Ket = env.Cursor
									env.SliceFrom("Y")
									break lab10
								}
								break lab8
							}
							env.Cursor = v_5
						lab13:
							for {
								env.Bra = env.Cursor
								if !env.EqS("ë") {
									break lab13
								}
								env.Ket = env.Cursor
								env.SliceFrom("He")
								break lab8
							}
							env.Cursor = v_5
						lab14:
							for {
								env.Bra = env.Cursor
								if !env.EqS("ï") {
									break lab14
								}
								env.Ket = env.Cursor
								env.SliceFrom("Hi")
								break lab8
							}
							env.Cursor = v_5
						lab15:
							for {
								env.Bra = env.Cursor
								if !env.EqS("y") {
									break lab15
								}
								env.Ket = env.Cursor
								if !env.InGrouping(G_v, 97, 251) {
									break lab15
								}
								env.SliceFrom("Y")
								break lab8
							}
							env.Cursor = v_5
							if !env.EqS("q") {
								break lab7
							}
							env.Bra = env.Cursor
							if !env.EqS("u") {
								break lab7
							}
							env.Ket = env.Cursor
							env.SliceFrom("U")
							break lab8
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
				continue replab4
			}
			env.Cursor = v_3
			break replab4
		}
		break lab3
	}
	env.Cursor = v_2
lab16:
	for {
		i_pV = env.Limit
		i_p1 = env.Limit
		i_p2 = env.Limit
		var v_7 = env.Cursor
	lab17:
		for {
		lab18:
			for {
				var v_8 = env.Cursor
			lab19:
				for {
					if !env.InGrouping(G_v, 97, 251) {
						break lab19
					}
					if !env.InGrouping(G_v, 97, 251) {
						break lab19
					}
					if env.Cursor >= env.Limit {
						break lab19
					}
					env.NextChar()
					break lab18
				}
				env.Cursor = v_8
			lab20:
				for {
					among_var = env.FindAmong(A_0, context)
					if among_var == 0 {
						break lab20
					}
					switch among_var {
					case 1:
						if !env.InGrouping(G_v, 97, 251) {
							break lab20
						}
					}
					break lab18
				}
				env.Cursor = v_8
				if env.Cursor >= env.Limit {
					break lab17
				}
				env.NextChar()
				if !env.GoOutGrouping(G_v, 97, 251) {
					break lab17
				}
				env.NextChar()
				break lab18
			}
			i_pV = env.Cursor
			break lab17
		}
		env.Cursor = v_7
		var v_9 = env.Cursor
	lab21:
		for {
			if !env.GoOutGrouping(G_v, 97, 251) {
				break lab21
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 251) {
				break lab21
			}
			env.NextChar()
			i_p1 = env.Cursor
			if !env.GoOutGrouping(G_v, 97, 251) {
				break lab21
			}
			env.NextChar()
			if !env.GoInGrouping(G_v, 97, 251) {
				break lab21
			}
			env.NextChar()
			i_p2 = env.Cursor
			break lab21
		}
		env.Cursor = v_9
		break lab16
	}
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_10 = env.Limit - env.Cursor
lab22:
	for {
	lab23:
		for {
			var v_11 = env.Limit - env.Cursor
		lab24:
			for {
				var v_12 = env.Limit - env.Cursor
			lab25:
				for {
					var v_13 = env.Limit - env.Cursor
				lab26:
					for {
						env.Ket = env.Cursor
						among_var = env.FindAmongB(A_4, context)
						if among_var == 0 {
							break lab26
						}
						env.Bra = env.Cursor
						switch among_var {
						case 1:
							if i_p2 > env.Cursor {
								break lab26
							}
							env.SliceDel()
						case 2:
							if i_p2 > env.Cursor {
								break lab26
							}
							env.SliceDel()
							var v_14 = env.Limit - env.Cursor
						lab27:
							for {
								env.Ket = env.Cursor
								if !env.EqSB("ic") {
									env.Cursor = env.Limit - v_14
									break lab27
								}
								env.Bra = env.Cursor
							lab28:
								for {
									var v_15 = env.Limit - env.Cursor
								lab29:
									for {
										if i_p2 > env.Cursor {
											break lab29
										}
										env.SliceDel()
										break lab28
									}
									env.Cursor = env.Limit - v_15
									env.SliceFrom("iqU")
									break lab28
								}
								break lab27
							}
						case 3:
							if i_p2 > env.Cursor {
								break lab26
							}
							env.SliceFrom("log")
						case 4:
							if i_p2 > env.Cursor {
								break lab26
							}
							env.SliceFrom("u")
						case 5:
							if i_p2 > env.Cursor {
								break lab26
							}
							env.SliceFrom("ent")
						case 6:
							if i_pV > env.Cursor {
								break lab26
							}
							env.SliceDel()
							var v_16 = env.Limit - env.Cursor
						lab30:
							for {
								env.Ket = env.Cursor
								among_var = env.FindAmongB(A_2, context)
								if among_var == 0 {
									env.Cursor = env.Limit - v_16
									break lab30
								}
								env.Bra = env.Cursor
								switch among_var {
								case 1:
									if i_p2 > env.Cursor {
										env.Cursor = env.Limit - v_16
										break lab30
									}
									env.SliceDel()
									env.Ket = env.Cursor
									if !env.EqSB("at") {
										env.Cursor = env.Limit - v_16
										break lab30
									}
									env.Bra = env.Cursor
									if i_p2 > env.Cursor {
										env.Cursor = env.Limit - v_16
										break lab30
									}
									env.SliceDel()
								case 2:
								lab31:
									for {
										var v_17 = env.Limit - env.Cursor
									lab32:
										for {
											if i_p2 > env.Cursor {
												break lab32
											}
											env.SliceDel()
											break lab31
										}
										env.Cursor = env.Limit - v_17
										if i_p1 > env.Cursor {
											env.Cursor = env.Limit - v_16
											break lab30
										}
										env.SliceFrom("eux")
										break lab31
									}
								case 3:
									if i_p2 > env.Cursor {
										env.Cursor = env.Limit - v_16
										break lab30
									}
									env.SliceDel()
								case 4:
									if i_pV > env.Cursor {
										env.Cursor = env.Limit - v_16
										break lab30
									}
									env.SliceFrom("i")
								}
								break lab30
							}
						case 7:
							if i_p2 > env.Cursor {
								break lab26
							}
							env.SliceDel()
							var v_18 = env.Limit - env.Cursor
						lab33:
							for {
								env.Ket = env.Cursor
								among_var = env.FindAmongB(A_3, context)
								if among_var == 0 {
									env.Cursor = env.Limit - v_18
									break lab33
								}
								env.Bra = env.Cursor
								switch among_var {
								case 1:
								lab34:
									for {
										var v_19 = env.Limit - env.Cursor
									lab35:
										for {
											if i_p2 > env.Cursor {
												break lab35
											}
											env.SliceDel()
											break lab34
										}
										env.Cursor = env.Limit - v_19
										env.SliceFrom("abl")
										break lab34
									}
								case 2:
								lab36:
									for {
										var v_20 = env.Limit - env.Cursor
									lab37:
										for {
											if i_p2 > env.Cursor {
												break lab37
											}
											env.SliceDel()
											break lab36
										}
										env.Cursor = env.Limit - v_20
										env.SliceFrom("iqU")
										break lab36
									}
								case 3:
									if i_p2 > env.Cursor {
										env.Cursor = env.Limit - v_18
										break lab33
									}
									env.SliceDel()
								}
								break lab33
							}
						case 8:
							if i_p2 > env.Cursor {
								break lab26
							}
							env.SliceDel()
							var v_21 = env.Limit - env.Cursor
						lab38:
							for {
								env.Ket = env.Cursor
								if !env.EqSB("at") {
									env.Cursor = env.Limit - v_21
									break lab38
								}
								env.Bra = env.Cursor
								if i_p2 > env.Cursor {
									env.Cursor = env.Limit - v_21
									break lab38
								}
								env.SliceDel()
								env.Ket = env.Cursor
								if !env.EqSB("ic") {
									env.Cursor = env.Limit - v_21
									break lab38
								}
								env.Bra = env.Cursor
							lab39:
								for {
									var v_22 = env.Limit - env.Cursor
								lab40:
									for {
										if i_p2 > env.Cursor {
											break lab40
										}
										env.SliceDel()
										break lab39
									}
									env.Cursor = env.Limit - v_22
									env.SliceFrom("iqU")
									break lab39
								}
								break lab38
							}
						case 9:
							env.SliceFrom("eau")
						case 10:
							if i_p1 > env.Cursor {
								break lab26
							}
							env.SliceFrom("al")
						case 11:
							if !env.InGroupingB(G_oux_ending, 98, 112) {
								break lab26
							}
							env.SliceFrom("ou")
						case 12:
						lab41:
							for {
								var v_23 = env.Limit - env.Cursor
							lab42:
								for {
									if i_p2 > env.Cursor {
										break lab42
									}
									env.SliceDel()
									break lab41
								}
								env.Cursor = env.Limit - v_23
								if i_p1 > env.Cursor {
									break lab26
								}
								env.SliceFrom("eux")
								break lab41
							}
						case 13:
							if i_p1 > env.Cursor {
								break lab26
							}
							if !env.OutGroupingB(G_v, 97, 251) {
								break lab26
							}
							env.SliceDel()
						case 14:
							if i_pV > env.Cursor {
								break lab26
							}
							env.SliceFrom("ant")
							break lab26
						case 15:
							if i_pV > env.Cursor {
								break lab26
							}
							env.SliceFrom("ent")
							break lab26
						case 16:
							var v_24 = env.Limit - env.Cursor
							if !env.InGroupingB(G_v, 97, 251) {
								break lab26
							}
							if i_pV > env.Cursor {
								break lab26
							}
							env.Cursor = env.Limit - v_24
							env.SliceDel()
							break lab26
						}
						break lab25
					}
					env.Cursor = env.Limit - v_13
				lab43:
					for {
						if env.Cursor < i_pV {
							break lab43
						}
						var v_25 = env.LimitBackward
						env.LimitBackward = i_pV
						env.Ket = env.Cursor
						if env.FindAmongB(A_5, context) == 0 {
							env.LimitBackward = v_25
							break lab43
						}
						env.Bra = env.Cursor
					lab44:
						for {
							if !env.EqSB("H") {
								break lab44
							}
							env.LimitBackward = v_25
							break lab43
						}
						if !env.OutGroupingB(G_v, 97, 251) {
							env.LimitBackward = v_25
							break lab43
						}
						env.SliceDel()
						env.LimitBackward = v_25
						break lab25
					}
					env.Cursor = env.Limit - v_13
					if env.Cursor < i_pV {
						break lab24
					}
					var v_26 = env.LimitBackward
					env.LimitBackward = i_pV
					env.Ket = env.Cursor
					among_var = env.FindAmongB(A_7, context)
					if among_var == 0 {
						env.LimitBackward = v_26
						break lab24
					}
					env.Bra = env.Cursor
					env.LimitBackward = v_26
					switch among_var {
					case 1:
						if i_p2 > env.Cursor {
							break lab24
						}
						env.SliceDel()
					case 2:
						env.SliceDel()
					case 3:
						var v_27 = env.Limit - env.Cursor
					lab45:
						for {
							if !env.EqSB("e") {
								env.Cursor = env.Limit - v_27
								break lab45
							}
							if i_pV > env.Cursor {
								env.Cursor = env.Limit - v_27
								break lab45
							}
							env.Bra = env.Cursor
							break lab45
						}
						env.SliceDel()
					case 4:
						var v_28 = env.Limit - env.Cursor
					lab46:
						for {
							among_var = env.FindAmongB(A_6, context)
							if among_var == 0 {
								break lab46
							}
							switch among_var {
							case 1:
								if env.Cursor <= env.LimitBackward {
									break lab46
								}
								env.PrevChar()
								if env.Cursor > env.LimitBackward {
									break lab46
								}
							}
							break lab24
						}
						env.Cursor = env.Limit - v_28
						env.SliceDel()
					}
					break lab25
				}
				env.Cursor = env.Limit - v_12
				var v_29 = env.Limit - env.Cursor
			lab47:
				for {
					env.Ket = env.Cursor
				lab48:
					for {
						var v_30 = env.Limit - env.Cursor
					lab49:
						for {
							if !env.EqSB("Y") {
								break lab49
							}
							env.Bra = env.Cursor
							env.SliceFrom("i")
							break lab48
						}
						env.Cursor = env.Limit - v_30
						if !env.EqSB("ç") {
							env.Cursor = env.Limit - v_29
							break lab47
						}
						env.Bra = env.Cursor
						env.SliceFrom("c")
						break lab48
					}
					break lab47
				}
				break lab23
			}
			env.Cursor = env.Limit - v_11
			var v_31 = env.Limit - env.Cursor
		lab50:
			for {
				env.Ket = env.Cursor
				if !env.EqSB("s") {
					env.Cursor = env.Limit - v_31
					break lab50
				}
				env.Bra = env.Cursor
				var v_32 = env.Limit - env.Cursor
			lab51:
				for {
				lab52:
					for {
						if !env.EqSB("Hi") {
							break lab52
						}
						break lab51
					}
					if !env.OutGroupingB(G_keep_with_s, 97, 232) {
						env.Cursor = env.Limit - v_31
						break lab50
					}
					break lab51
				}
				env.Cursor = env.Limit - v_32
				env.SliceDel()
				break lab50
			}
			if env.Cursor < i_pV {
				break lab22
			}
			var v_33 = env.LimitBackward
			env.LimitBackward = i_pV
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_8, context)
			if among_var == 0 {
				env.LimitBackward = v_33
				break lab22
			}
			env.Bra = env.Cursor
			switch among_var {
			case 1:
				if i_p2 > env.Cursor {
					env.LimitBackward = v_33
					break lab22
				}
			lab53:
				for {
				lab54:
					for {
						if !env.EqSB("s") {
							break lab54
						}
						break lab53
					}
					if !env.EqSB("t") {
						env.LimitBackward = v_33
						break lab22
					}
					break lab53
				}
				env.SliceDel()
			case 2:
				env.SliceFrom("i")
			case 3:
				env.SliceDel()
			}
			env.LimitBackward = v_33
			break lab23
		}
		break lab22
	}
	env.Cursor = env.Limit - v_10
	var v_34 = env.Limit - env.Cursor
lab55:
	for {
		var v_35 = env.Limit - env.Cursor
		if env.FindAmongB(A_9, context) == 0 {
			break lab55
		}
		env.Cursor = env.Limit - v_35
		env.Ket = env.Cursor
		if env.Cursor <= env.LimitBackward {
			break lab55
		}
		env.PrevChar()
		env.Bra = env.Cursor
		env.SliceDel()
		break lab55
	}
	env.Cursor = env.Limit - v_34
	var v_36 = env.Limit - env.Cursor
lab56:
	for {
		var v_37 = 1
	replab57:
		for {
		lab58:
			for range [2]struct{}{} {
				if !env.OutGroupingB(G_v, 97, 251) {
					break lab58
				}
				v_37--
				continue replab57
			}
			break replab57
		}
		if v_37 > 0 {
			break lab56
		}
		env.Ket = env.Cursor
	lab59:
		for {
		lab60:
			for {
				if !env.EqSB("é") {
					break lab60
				}
				break lab59
			}
			if !env.EqSB("è") {
				break lab56
			}
			break lab59
		}
		env.Bra = env.Cursor
		env.SliceFrom("e")
		break lab56
	}
	env.Cursor = env.Limit - v_36
	env.Cursor = env.LimitBackward
	var v_38 = env.Cursor
lab61:
	for {
	replab62:
		for {
			var v_39 = env.Cursor
		lab63:
			for range [2]struct{}{} {
				env.Bra = env.Cursor
				among_var = env.FindAmong(A_1, context)
				env.Ket = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("i")
				case 2:
					env.SliceFrom("u")
				case 3:
					env.SliceFrom("y")
				case 4:
					env.SliceFrom("ë")
				case 5:
					env.SliceFrom("ï")
				case 6:
					env.SliceDel()
				case 7:
					if env.Cursor >= env.Limit {
						break lab63
					}
					env.NextChar()
				}
				continue replab62
			}
			env.Cursor = v_39
			break replab62
		}
		break lab61
	}
	env.Cursor = v_38
	return true
}
