// Code generated from algorithms/greek.sbl by the Snowball compiler; DO NOT EDIT.

// Package greek finds the stems of words; see the package snowball.
package greek

import (
	snowballRuntime "tiltyard/shared/index/snowball/internal/runtime"
)

var A_0 = []*snowballRuntime.Among{
	{Str: "", A: -1, B: 25, F: nil},
	{Str: "ς", A: 0, B: 18, F: nil},
	{Str: "Ά", A: 0, B: 1, F: nil},
	{Str: "Έ", A: 0, B: 5, F: nil},
	{Str: "Ή", A: 0, B: 7, F: nil},
	{Str: "Ί", A: 0, B: 9, F: nil},
	{Str: "ϊ", A: 0, B: 7, F: nil},
	{Str: "ϋ", A: 0, B: 20, F: nil},
	{Str: "Ό", A: 0, B: 15, F: nil},
	{Str: "ό", A: 0, B: 15, F: nil},
	{Str: "ύ", A: 0, B: 20, F: nil},
	{Str: "Ύ", A: 0, B: 20, F: nil},
	{Str: "ώ", A: 0, B: 24, F: nil},
	{Str: "Ώ", A: 0, B: 24, F: nil},
	{Str: "ΐ", A: 0, B: 7, F: nil},
	{Str: "Α", A: 0, B: 1, F: nil},
	{Str: "Β", A: 0, B: 2, F: nil},
	{Str: "Γ", A: 0, B: 3, F: nil},
	{Str: "Δ", A: 0, B: 4, F: nil},
	{Str: "Ε", A: 0, B: 5, F: nil},
	{Str: "Ζ", A: 0, B: 6, F: nil},
	{Str: "Η", A: 0, B: 7, F: nil},
	{Str: "Θ", A: 0, B: 8, F: nil},
	{Str: "Ι", A: 0, B: 9, F: nil},
	{Str: "Κ", A: 0, B: 10, F: nil},
	{Str: "Λ", A: 0, B: 11, F: nil},
	{Str: "Μ", A: 0, B: 12, F: nil},
	{Str: "Ν", A: 0, B: 13, F: nil},
	{Str: "Ξ", A: 0, B: 14, F: nil},
	{Str: "Ο", A: 0, B: 15, F: nil},
	{Str: "Π", A: 0, B: 16, F: nil},
	{Str: "Ρ", A: 0, B: 17, F: nil},
	{Str: "Σ", A: 0, B: 18, F: nil},
	{Str: "Τ", A: 0, B: 19, F: nil},
	{Str: "Υ", A: 0, B: 20, F: nil},
	{Str: "Φ", A: 0, B: 21, F: nil},
	{Str: "Χ", A: 0, B: 22, F: nil},
	{Str: "Ψ", A: 0, B: 23, F: nil},
	{Str: "Ω", A: 0, B: 24, F: nil},
	{Str: "Ϊ", A: 0, B: 9, F: nil},
	{Str: "Ϋ", A: 0, B: 20, F: nil},
	{Str: "ά", A: 0, B: 1, F: nil},
	{Str: "έ", A: 0, B: 5, F: nil},
	{Str: "ή", A: 0, B: 7, F: nil},
	{Str: "ί", A: 0, B: 9, F: nil},
	{Str: "ΰ", A: 0, B: 20, F: nil},
}

var A_1 = []*snowballRuntime.Among{
	{Str: "καθεστωσ", A: -1, B: 10, F: nil},
	{Str: "φωσ", A: -1, B: 9, F: nil},
	{Str: "περασ", A: -1, B: 7, F: nil},
	{Str: "τερασ", A: -1, B: 8, F: nil},
	{Str: "κρεασ", A: -1, B: 6, F: nil},
	{Str: "καθεστωτοσ", A: -1, B: 10, F: nil},
	{Str: "φωτοσ", A: -1, B: 9, F: nil},
	{Str: "περατοσ", A: -1, B: 7, F: nil},
	{Str: "τερατοσ", A: -1, B: 8, F: nil},
	{Str: "κρεατοσ", A: -1, B: 6, F: nil},
	{Str: "γεγονοτοσ", A: -1, B: 11, F: nil},
	{Str: "γεγονοσ", A: -1, B: 11, F: nil},
	{Str: "φαγιου", A: -1, B: 1, F: nil},
	{Str: "σκαγιου", A: -1, B: 2, F: nil},
	{Str: "σογιου", A: -1, B: 4, F: nil},
	{Str: "τατογιου", A: -1, B: 5, F: nil},
	{Str: "ολογιου", A: -1, B: 3, F: nil},
	{Str: "καθεστωτα", A: -1, B: 10, F: nil},
	{Str: "φωτα", A: -1, B: 9, F: nil},
	{Str: "περατα", A: -1, B: 7, F: nil},
	{Str: "τερατα", A: -1, B: 8, F: nil},
	{Str: "κρεατα", A: -1, B: 6, F: nil},
	{Str: "γεγονοτα", A: -1, B: 11, F: nil},
	{Str: "φαγια", A: -1, B: 1, F: nil},
	{Str: "σκαγια", A: -1, B: 2, F: nil},
	{Str: "σογια", A: -1, B: 4, F: nil},
	{Str: "τατογια", A: -1, B: 5, F: nil},
	{Str: "ολογια", A: -1, B: 3, F: nil},
	{Str: "περατη", A: -1, B: 7, F: nil},
	{Str: "καθεστωτων", A: -1, B: 10, F: nil},
	{Str: "φωτων", A: -1, B: 9, F: nil},
	{Str: "περατων", A: -1, B: 7, F: nil},
	{Str: "τερατων", A: -1, B: 8, F: nil},
	{Str: "κρεατων", A: -1, B: 6, F: nil},
	{Str: "γεγονοτων", A: -1, B: 11, F: nil},
	{Str: "φαγιων", A: -1, B: 1, F: nil},
	{Str: "σκαγιων", A: -1, B: 2, F: nil},
	{Str: "σογιων", A: -1, B: 4, F: nil},
	{Str: "τατογιων", A: -1, B: 5, F: nil},
	{Str: "ολογιων", A: -1, B: 3, F: nil},
}

var A_2 = []*snowballRuntime.Among{
	{Str: "π", A: -1, B: 2, F: nil},
	{Str: "ιμπ", A: 0, B: 2, F: nil},
	{Str: "ρ", A: -1, B: 2, F: nil},
	{Str: "πρ", A: 2, B: 2, F: nil},
	{Str: "μπρ", A: 3, B: 2, F: nil},
	{Str: "αρρ", A: 2, B: 2, F: nil},
	{Str: "γλυκυρ", A: 2, B: 2, F: nil},
	{Str: "πολυρ", A: 2, B: 2, F: nil},
	{Str: "αμπαρ", A: 2, B: 2, F: nil},
	{Str: "μαρ", A: 2, B: 2, F: nil},
	{Str: "γκρ", A: 2, B: 2, F: nil},
	{Str: "πιπερορ", A: 2, B: 2, F: nil},
	{Str: "βολβορ", A: 2, B: 2, F: nil},
	{Str: "γλυκορ", A: 2, B: 2, F: nil},
	{Str: "λου", A: -1, B: 2, F: nil},
	{Str: "πα", A: -1, B: 1, F: nil},
	{Str: "ξαναπα", A: 15, B: 1, F: nil},
	{Str: "επα", A: 15, B: 1, F: nil},
	{Str: "περιπα", A: 15, B: 1, F: nil},
	{Str: "αναμπα", A: 15, B: 1, F: nil},
	{Str: "εμπα", A: 15, B: 1, F: nil},
	{Str: "β", A: -1, B: 2, F: nil},
	{Str: "δανε", A: -1, B: 1, F: nil},
	{Str: "βαθυρι", A: -1, B: 2, F: nil},
	{Str: "βαρκ", A: -1, B: 2, F: nil},
	{Str: "μαρκ", A: -1, B: 2, F: nil},
	{Str: "λ", A: -1, B: 2, F: nil},
	{Str: "μ", A: -1, B: 2, F: nil},
	{Str: "κορν", A: -1, B: 2, F: nil},
	{Str: "αθρο", A: -1, B: 1, F: nil},
	{Str: "συναθρο", A: 29, B: 1, F: nil},
}

var A_3 = []*snowballRuntime.Among{
	{Str: "ιζεσ", A: -1, B: 1, F: nil},
	{Str: "ιζεισ", A: -1, B: 1, F: nil},
	{Str: "ιζω", A: -1, B: 1, F: nil},
	{Str: "ιζα", A: -1, B: 1, F: nil},
	{Str: "ιζατε", A: -1, B: 1, F: nil},
	{Str: "ιζετε", A: -1, B: 1, F: nil},
	{Str: "ιζε", A: -1, B: 1, F: nil},
	{Str: "ιζουμε", A: -1, B: 1, F: nil},
	{Str: "ιζαμε", A: -1, B: 1, F: nil},
	{Str: "ιζουνε", A: -1, B: 1, F: nil},
	{Str: "ιζανε", A: -1, B: 1, F: nil},
	{Str: "ιζει", A: -1, B: 1, F: nil},
	{Str: "ιζουν", A: -1, B: 1, F: nil},
	{Str: "ιζαν", A: -1, B: 1, F: nil},
}

var A_4 = []*snowballRuntime.Among{
	{Str: "σ", A: -1, B: 1, F: nil},
	{Str: "χ", A: -1, B: 1, F: nil},
	{Str: "υψ", A: -1, B: 1, F: nil},
	{Str: "ζω", A: -1, B: 1, F: nil},
	{Str: "βι", A: -1, B: 1, F: nil},
	{Str: "λι", A: -1, B: 1, F: nil},
	{Str: "αλ", A: -1, B: 1, F: nil},
	{Str: "εν", A: -1, B: 1, F: nil},
}

var A_5 = []*snowballRuntime.Among{
	{Str: "ωθηκεσ", A: -1, B: 1, F: nil},
	{Str: "ωθηκα", A: -1, B: 1, F: nil},
	{Str: "ωθηκατε", A: -1, B: 1, F: nil},
	{Str: "ωθηκε", A: -1, B: 1, F: nil},
	{Str: "ωθηκαμε", A: -1, B: 1, F: nil},
	{Str: "ωθηκανε", A: -1, B: 1, F: nil},
	{Str: "ωθηκαν", A: -1, B: 1, F: nil},
}

var A_6 = []*snowballRuntime.Among{
	{Str: "π", A: -1, B: 2, F: nil},
	{Str: "λαρ", A: -1, B: 2, F: nil},
	{Str: "δημοκρατ", A: -1, B: 2, F: nil},
	{Str: "αφ", A: -1, B: 2, F: nil},
	{Str: "γιγαντοαφ", A: 3, B: 2, F: nil},
	{Str: "ξαναπα", A: -1, B: 1, F: nil},
	{Str: "επα", A: -1, B: 1, F: nil},
	{Str: "περιπα", A: -1, B: 1, F: nil},
	{Str: "αναμπα", A: -1, B: 1, F: nil},
	{Str: "εμπα", A: -1, B: 1, F: nil},
	{Str: "χαρτοπα", A: -1, B: 1, F: nil},
	{Str: "εξαρχα", A: -1, B: 1, F: nil},
	{Str: "πε", A: -1, B: 1, F: nil},
	{Str: "επε", A: 12, B: 1, F: nil},
	{Str: "μετεπε", A: 13, B: 1, F: nil},
	{Str: "εσε", A: -1, B: 1, F: nil},
	{Str: "γε", A: -1, B: 2, F: nil},
	{Str: "γκε", A: -1, B: 2, F: nil},
	{Str: "κλε", A: -1, B: 1, F: nil},
	{Str: "εσωκλε", A: 18, B: 1, F: nil},
	{Str: "εκλε", A: 18, B: 1, F: nil},
	{Str: "απεκλε", A: 20, B: 1, F: nil},
	{Str: "αποκλε", A: 18, B: 1, F: nil},
	{Str: "δανε", A: -1, B: 1, F: nil},
	{Str: "γκ", A: -1, B: 2, F: nil},
	{Str: "μ", A: -1, B: 2, F: nil},
	{Str: "πουκαμ", A: 25, B: 2, F: nil},
	{Str: "κομ", A: 25, B: 2, F: nil},
	{Str: "αν", A: -1, B: 2, F: nil},
	{Str: "αθρο", A: -1, B: 1, F: nil},
	{Str: "συναθρο", A: 29, B: 1, F: nil},
	{Str: "ολο", A: -1, B: 2, F: nil},
}

var A_7 = []*snowballRuntime.Among{
	{Str: "ισεσ", A: -1, B: 1, F: nil},
	{Str: "ισα", A: -1, B: 1, F: nil},
	{Str: "ισε", A: -1, B: 1, F: nil},
	{Str: "ισατε", A: -1, B: 1, F: nil},
	{Str: "ισαμε", A: -1, B: 1, F: nil},
	{Str: "ισανε", A: -1, B: 1, F: nil},
	{Str: "ισαν", A: -1, B: 1, F: nil},
}

var A_8 = []*snowballRuntime.Among{
	{Str: "ξαναπα", A: -1, B: 1, F: nil},
	{Str: "επα", A: -1, B: 1, F: nil},
	{Str: "περιπα", A: -1, B: 1, F: nil},
	{Str: "αναμπα", A: -1, B: 1, F: nil},
	{Str: "εμπα", A: -1, B: 1, F: nil},
	{Str: "χαρτοπα", A: -1, B: 1, F: nil},
	{Str: "εξαρχα", A: -1, B: 1, F: nil},
	{Str: "πε", A: -1, B: 1, F: nil},
	{Str: "επε", A: 7, B: 1, F: nil},
	{Str: "μετεπε", A: 8, B: 1, F: nil},
	{Str: "εσε", A: -1, B: 1, F: nil},
	{Str: "κλε", A: -1, B: 1, F: nil},
	{Str: "εσωκλε", A: 11, B: 1, F: nil},
	{Str: "εκλε", A: 11, B: 1, F: nil},
	{Str: "απεκλε", A: 13, B: 1, F: nil},
	{Str: "αποκλε", A: 11, B: 1, F: nil},
	{Str: "δανε", A: -1, B: 1, F: nil},
	{Str: "αθρο", A: -1, B: 1, F: nil},
	{Str: "συναθρο", A: 17, B: 1, F: nil},
}

var A_9 = []*snowballRuntime.Among{
	{Str: "ισεισ", A: -1, B: 1, F: nil},
	{Str: "ισω", A: -1, B: 1, F: nil},
	{Str: "ισετε", A: -1, B: 1, F: nil},
	{Str: "ισουμε", A: -1, B: 1, F: nil},
	{Str: "ισουνε", A: -1, B: 1, F: nil},
	{Str: "ισει", A: -1, B: 1, F: nil},
	{Str: "ισουν", A: -1, B: 1, F: nil},
}

var A_10 = []*snowballRuntime.Among{
	{Str: "π", A: -1, B: 2, F: nil},
	{Str: "ευπ", A: 0, B: 2, F: nil},
	{Str: "απ", A: 0, B: 2, F: nil},
	{Str: "εμπ", A: 0, B: 2, F: nil},
	{Str: "γυρ", A: -1, B: 2, F: nil},
	{Str: "χρ", A: -1, B: 2, F: nil},
	{Str: "χωρ", A: -1, B: 2, F: nil},
	{Str: "αρ", A: -1, B: 2, F: nil},
	{Str: "αορ", A: -1, B: 2, F: nil},
	{Str: "χτ", A: -1, B: 2, F: nil},
	{Str: "αχτ", A: 9, B: 2, F: nil},
	{Str: "κτ", A: -1, B: 2, F: nil},
	{Str: "ακτ", A: 11, B: 2, F: nil},
	{Str: "σχ", A: -1, B: 2, F: nil},
	{Str: "ασχ", A: 13, B: 2, F: nil},
	{Str: "ταχ", A: -1, B: 2, F: nil},
	{Str: "υψ", A: -1, B: 2, F: nil},
	{Str: "ατα", A: -1, B: 2, F: nil},
	{Str: "φα", A: -1, B: 2, F: nil},
	{Str: "ηφα", A: 18, B: 2, F: nil},
	{Str: "λυγ", A: -1, B: 2, F: nil},
	{Str: "μεγ", A: -1, B: 2, F: nil},
	{Str: "ηδ", A: -1, B: 2, F: nil},
	{Str: "σε", A: -1, B: 1, F: nil},
	{Str: "ασε", A: 23, B: 1, F: nil},
	{Str: "πλε", A: -1, B: 1, F: nil},
	{Str: "κλε", A: -1, B: 1, F: nil},
	{Str: "εσωκλε", A: 26, B: 1, F: nil},
	{Str: "δανε", A: -1, B: 1, F: nil},
	{Str: "εχθ", A: -1, B: 2, F: nil},
	{Str: "καθ", A: -1, B: 2, F: nil},
	{Str: "σκ", A: -1, B: 2, F: nil},
	{Str: "κακ", A: -1, B: 2, F: nil},
	{Str: "μακ", A: -1, B: 2, F: nil},
	{Str: "κυλ", A: -1, B: 2, F: nil},
	{Str: "φιλ", A: -1, B: 2, F: nil},
	{Str: "μ", A: -1, B: 2, F: nil},
	{Str: "γεμ", A: 36, B: 2, F: nil},
	{Str: "αχν", A: -1, B: 2, F: nil},
	{Str: "συναθρο", A: -1, B: 1, F: nil},
}

var A_11 = []*snowballRuntime.Among{
	{Str: "ιστουσ", A: -1, B: 1, F: nil},
	{Str: "ιστεσ", A: -1, B: 1, F: nil},
	{Str: "ιστησ", A: -1, B: 1, F: nil},
	{Str: "ιστοσ", A: -1, B: 1, F: nil},
	{Str: "ιστου", A: -1, B: 1, F: nil},
	{Str: "ιστα", A: -1, B: 1, F: nil},
	{Str: "ιστε", A: -1, B: 1, F: nil},
	{Str: "ιστη", A: -1, B: 1, F: nil},
	{Str: "ιστοι", A: -1, B: 1, F: nil},
	{Str: "ιστων", A: -1, B: 1, F: nil},
	{Str: "ιστο", A: -1, B: 1, F: nil},
}

var A_12 = []*snowballRuntime.Among{
	{Str: "σε", A: -1, B: 1, F: nil},
	{Str: "μετασε", A: 0, B: 1, F: nil},
	{Str: "μικροσε", A: 0, B: 1, F: nil},
	{Str: "εγκλε", A: -1, B: 1, F: nil},
	{Str: "αποκλε", A: -1, B: 1, F: nil},
	{Str: "δανε", A: -1, B: 2, F: nil},
	{Str: "αντιδανε", A: 5, B: 2, F: nil},
}

var A_13 = []*snowballRuntime.Among{
	{Str: "τοπικ", A: -1, B: 7, F: nil},
	{Str: "σκεπτικ", A: -1, B: 6, F: nil},
	{Str: "γνωστικ", A: -1, B: 3, F: nil},
	{Str: "αγνωστικ", A: 2, B: 1, F: nil},
	{Str: "εκλεκτικ", A: -1, B: 5, F: nil},
	{Str: "ατομικ", A: -1, B: 2, F: nil},
	{Str: "εθνικ", A: -1, B: 4, F: nil},
	{Str: "θεατριν", A: -1, B: 10, F: nil},
	{Str: "αλεξανδριν", A: -1, B: 8, F: nil},
	{Str: "βυζαντιν", A: -1, B: 9, F: nil},
}

var A_14 = []*snowballRuntime.Among{
	{Str: "ισμουσ", A: -1, B: 1, F: nil},
	{Str: "ισμοσ", A: -1, B: 1, F: nil},
	{Str: "ισμου", A: -1, B: 1, F: nil},
	{Str: "ισμοι", A: -1, B: 1, F: nil},
	{Str: "ισμων", A: -1, B: 1, F: nil},
	{Str: "ισμο", A: -1, B: 1, F: nil},
}

var A_15 = []*snowballRuntime.Among{
	{Str: "σ", A: -1, B: 1, F: nil},
	{Str: "χ", A: -1, B: 1, F: nil},
}

var A_16 = []*snowballRuntime.Among{
	{Str: "αρακια", A: -1, B: 1, F: nil},
	{Str: "ουδακια", A: -1, B: 1, F: nil},
	{Str: "αρακι", A: -1, B: 1, F: nil},
	{Str: "ουδακι", A: -1, B: 1, F: nil},
}

var A_17 = []*snowballRuntime.Among{
	{Str: "π", A: -1, B: 2, F: nil},
	{Str: "κατραπ", A: 0, B: 1, F: nil},
	{Str: "ρ", A: -1, B: 1, F: nil},
	{Str: "βρ", A: 2, B: 1, F: nil},
	{Str: "λαβρ", A: 3, B: 1, F: nil},
	{Str: "αμβρ", A: 3, B: 1, F: nil},
	{Str: "πατερ", A: 2, B: 2, F: nil},
	{Str: "μερ", A: 2, B: 1, F: nil},
	{Str: "ανθρ", A: 2, B: 1, F: nil},
	{Str: "κορ", A: 2, B: 1, F: nil},
	{Str: "σ", A: -1, B: 1, F: nil},
	{Str: "ναγκασ", A: 10, B: 1, F: nil},
	{Str: "τοσ", A: 10, B: 2, F: nil},
	{Str: "μουστ", A: -1, B: 1, F: nil},
	{Str: "ρυ", A: -1, B: 1, F: nil},
	{Str: "φ", A: -1, B: 1, F: nil},
	{Str: "σφ", A: 15, B: 1, F: nil},
	{Str: "αλισφ", A: 16, B: 1, F: nil},
	{Str: "νυφ", A: 15, B: 2, F: nil},
	{Str: "χ", A: -1, B: 1, F: nil},
	{Str: "β", A: -1, B: 2, F: nil},
	{Str: "βαμβ", A: 20, B: 1, F: nil},
	{Str: "σλοβ", A: 20, B: 1, F: nil},
	{Str: "τσεχοσλοβ", A: 22, B: 1, F: nil},
	{Str: "καρδ", A: -1, B: 2, F: nil},
	{Str: "ζ", A: -1, B: 2, F: nil},
	{Str: "τζ", A: 25, B: 1, F: nil},
	{Str: "κ", A: -1, B: 1, F: nil},
	{Str: "σκ", A: 27, B: 1, F: nil},
	{Str: "καπακ", A: 27, B: 1, F: nil},
	{Str: "σοκ", A: 27, B: 1, F: nil},
	{Str: "πλ", A: -1, B: 1, F: nil},
	{Str: "φυλ", A: -1, B: 1, F: nil},
	{Str: "λουλ", A: -1, B: 1, F: nil},
	{Str: "βαλ", A: -1, B: 2, F: nil},
	{Str: "μαλ", A: -1, B: 1, F: nil},
	{Str: "γλ", A: -1, B: 2, F: nil},
	{Str: "τριπολ", A: -1, B: 2, F: nil},
	{Str: "φαρμ", A: -1, B: 1, F: nil},
	{Str: "καιμ", A: -1, B: 1, F: nil},
	{Str: "κλιμ", A: -1, B: 1, F: nil},
	{Str: "μακρυν", A: -1, B: 2, F: nil},
	{Str: "σπαν", A: -1, B: 1, F: nil},
	{Str: "γιαν", A: -1, B: 2, F: nil},
	{Str: "ηγουμεν", A: -1, B: 2, F: nil},
	{Str: "κον", A: -1, B: 1, F: nil},
}

var A_18 = []*snowballRuntime.Among{
	{Str: "ιτσασ", A: -1, B: 1, F: nil},
	{Str: "ιτσεσ", A: -1, B: 1, F: nil},
	{Str: "ιτσα", A: -1, B: 1, F: nil},
	{Str: "ακια", A: -1, B: 1, F: nil},
	{Str: "αρακια", A: 3, B: 1, F: nil},
	{Str: "ακι", A: -1, B: 1, F: nil},
	{Str: "αρακι", A: 5, B: 1, F: nil},
	{Str: "ιτσων", A: -1, B: 1, F: nil},
}

var A_19 = []*snowballRuntime.Among{
	{Str: "ιρ", A: -1, B: 1, F: nil},
	{Str: "ψαλ", A: -1, B: 1, F: nil},
	{Str: "αιφν", A: -1, B: 1, F: nil},
	{Str: "ολο", A: -1, B: 1, F: nil},
}

var A_20 = []*snowballRuntime.Among{
	{Str: "ε", A: -1, B: 1, F: nil},
	{Str: "παιχν", A: -1, B: 1, F: nil},
}

var A_21 = []*snowballRuntime.Among{
	{Str: "ιδια", A: -1, B: 1, F: nil},
	{Str: "ιδιων", A: -1, B: 1, F: nil},
	{Str: "ιδιο", A: -1, B: 1, F: nil},
}

var A_22 = []*snowballRuntime.Among{
	{Str: "ρ", A: -1, B: 1, F: nil},
	{Str: "ιβ", A: -1, B: 1, F: nil},
	{Str: "δ", A: -1, B: 1, F: nil},
	{Str: "λυκ", A: -1, B: 1, F: nil},
	{Str: "φραγκ", A: -1, B: 1, F: nil},
	{Str: "οβελ", A: -1, B: 1, F: nil},
	{Str: "μην", A: -1, B: 1, F: nil},
}

var A_23 = []*snowballRuntime.Among{
	{Str: "ισκοσ", A: -1, B: 1, F: nil},
	{Str: "ισκου", A: -1, B: 1, F: nil},
	{Str: "ισκε", A: -1, B: 1, F: nil},
	{Str: "ισκο", A: -1, B: 1, F: nil},
}

var A_24 = []*snowballRuntime.Among{
	{Str: "αδεσ", A: -1, B: 1, F: nil},
	{Str: "αδων", A: -1, B: 1, F: nil},
}

var A_25 = []*snowballRuntime.Among{
	{Str: "μπαμπ", A: -1, B: -1, F: nil},
	{Str: "κυρ", A: -1, B: -1, F: nil},
	{Str: "πατερ", A: -1, B: -1, F: nil},
	{Str: "πεθερ", A: -1, B: -1, F: nil},
	{Str: "νταντ", A: -1, B: -1, F: nil},
	{Str: "γιαγι", A: -1, B: -1, F: nil},
	{Str: "θει", A: -1, B: -1, F: nil},
	{Str: "οκ", A: -1, B: -1, F: nil},
	{Str: "μαμ", A: -1, B: -1, F: nil},
	{Str: "μαν", A: -1, B: -1, F: nil},
}

var A_26 = []*snowballRuntime.Among{
	{Str: "εδεσ", A: -1, B: 1, F: nil},
	{Str: "εδων", A: -1, B: 1, F: nil},
}

var A_27 = []*snowballRuntime.Among{
	{Str: "κρασπ", A: -1, B: 1, F: nil},
	{Str: "υπ", A: -1, B: 1, F: nil},
	{Str: "δαπ", A: -1, B: 1, F: nil},
	{Str: "γηπ", A: -1, B: 1, F: nil},
	{Str: "ιπ", A: -1, B: 1, F: nil},
	{Str: "εμπ", A: -1, B: 1, F: nil},
	{Str: "οπ", A: -1, B: 1, F: nil},
	{Str: "μιλ", A: -1, B: 1, F: nil},
}

var A_28 = []*snowballRuntime.Among{
	{Str: "ουδεσ", A: -1, B: 1, F: nil},
	{Str: "ουδων", A: -1, B: 1, F: nil},
}

var A_29 = []*snowballRuntime.Among{
	{Str: "σπ", A: -1, B: 1, F: nil},
	{Str: "φρ", A: -1, B: 1, F: nil},
	{Str: "σ", A: -1, B: 1, F: nil},
	{Str: "λιχ", A: -1, B: 1, F: nil},
	{Str: "τραγ", A: -1, B: 1, F: nil},
	{Str: "φε", A: -1, B: 1, F: nil},
	{Str: "αρκ", A: -1, B: 1, F: nil},
	{Str: "σκ", A: -1, B: 1, F: nil},
	{Str: "καλιακ", A: -1, B: 1, F: nil},
	{Str: "λουλ", A: -1, B: 1, F: nil},
	{Str: "φλ", A: -1, B: 1, F: nil},
	{Str: "πεταλ", A: -1, B: 1, F: nil},
	{Str: "βελ", A: -1, B: 1, F: nil},
	{Str: "χν", A: -1, B: 1, F: nil},
	{Str: "πλεξ", A: -1, B: 1, F: nil},
}

var A_30 = []*snowballRuntime.Among{
	{Str: "εωσ", A: -1, B: 1, F: nil},
	{Str: "εων", A: -1, B: 1, F: nil},
}

var A_31 = []*snowballRuntime.Among{
	{Str: "π", A: -1, B: 1, F: nil},
	{Str: "παρ", A: -1, B: 1, F: nil},
	{Str: "δ", A: -1, B: 1, F: nil},
	{Str: "ιδ", A: 2, B: 1, F: nil},
	{Str: "θ", A: -1, B: 1, F: nil},
	{Str: "γαλ", A: -1, B: 1, F: nil},
	{Str: "ελ", A: -1, B: 1, F: nil},
	{Str: "ν", A: -1, B: 1, F: nil},
}

var A_32 = []*snowballRuntime.Among{
	{Str: "ιου", A: -1, B: 1, F: nil},
	{Str: "ια", A: -1, B: 1, F: nil},
	{Str: "ιων", A: -1, B: 1, F: nil},
}

var A_33 = []*snowballRuntime.Among{
	{Str: "ικου", A: -1, B: 1, F: nil},
	{Str: "ικα", A: -1, B: 1, F: nil},
	{Str: "ικων", A: -1, B: 1, F: nil},
	{Str: "ικο", A: -1, B: 1, F: nil},
}

var A_34 = []*snowballRuntime.Among{
	{Str: "καλπ", A: -1, B: 1, F: nil},
	{Str: "γερ", A: -1, B: 1, F: nil},
	{Str: "πλιατσ", A: -1, B: 1, F: nil},
	{Str: "πετσ", A: -1, B: 1, F: nil},
	{Str: "πιτσ", A: -1, B: 1, F: nil},
	{Str: "φυσ", A: -1, B: 1, F: nil},
	{Str: "χασ", A: -1, B: 1, F: nil},
	{Str: "μποσ", A: -1, B: 1, F: nil},
	{Str: "σερτ", A: -1, B: 1, F: nil},
	{Str: "μπαγιατ", A: -1, B: 1, F: nil},
	{Str: "νιτ", A: -1, B: 1, F: nil},
	{Str: "πικαντ", A: -1, B: 1, F: nil},
	{Str: "εξωδ", A: -1, B: 1, F: nil},
	{Str: "αδ", A: -1, B: 1, F: nil},
	{Str: "καταδ", A: 13, B: 1, F: nil},
	{Str: "συναδ", A: 13, B: 1, F: nil},
	{Str: "αντιδ", A: -1, B: 1, F: nil},
	{Str: "ενδ", A: -1, B: 1, F: nil},
	{Str: "υποδ", A: -1, B: 1, F: nil},
	{Str: "πρωτοδ", A: -1, B: 1, F: nil},
	{Str: "φυλοδ", A: -1, B: 1, F: nil},
	{Str: "ηθ", A: -1, B: 1, F: nil},
	{Str: "ανηθ", A: 21, B: 1, F: nil},
	{Str: "ξικ", A: -1, B: 1, F: nil},
	{Str: "μουλ", A: -1, B: 1, F: nil},
	{Str: "αλ", A: -1, B: 1, F: nil},
	{Str: "αμμοχαλ", A: 25, B: 1, F: nil},
	{Str: "συνομηλ", A: -1, B: 1, F: nil},
	{Str: "μπολ", A: -1, B: 1, F: nil},
	{Str: "βρωμ", A: -1, B: 1, F: nil},
	{Str: "τσαμ", A: -1, B: 1, F: nil},
	{Str: "μπαν", A: -1, B: 1, F: nil},
	{Str: "αμαν", A: -1, B: 1, F: nil},
	{Str: "καλλιν", A: -1, B: 1, F: nil},
	{Str: "ποστελν", A: -1, B: 1, F: nil},
	{Str: "φιλον", A: -1, B: 1, F: nil},
}

var A_35 = []*snowballRuntime.Among{
	{Str: "ουσαμε", A: -1, B: 1, F: nil},
	{Str: "ησαμε", A: -1, B: 1, F: nil},
	{Str: "αγαμε", A: -1, B: 1, F: nil},
	{Str: "ηκαμε", A: -1, B: 1, F: nil},
	{Str: "ηθηκαμε", A: 3, B: 1, F: nil},
}

var A_36 = []*snowballRuntime.Among{
	{Str: "αναπ", A: -1, B: 1, F: nil},
	{Str: "πικρ", A: -1, B: 1, F: nil},
	{Str: "αποστ", A: -1, B: 1, F: nil},
	{Str: "ποτ", A: -1, B: 1, F: nil},
	{Str: "χ", A: -1, B: 1, F: nil},
	{Str: "σιχ", A: 4, B: 1, F: nil},
	{Str: "βουβ", A: -1, B: 1, F: nil},
	{Str: "πεθ", A: -1, B: 1, F: nil},
	{Str: "ξεθ", A: -1, B: 1, F: nil},
	{Str: "αποθ", A: -1, B: 1, F: nil},
	{Str: "αποκ", A: -1, B: 1, F: nil},
	{Str: "ουλ", A: -1, B: 1, F: nil},
}

var A_37 = []*snowballRuntime.Among{
	{Str: "τρ", A: -1, B: 1, F: nil},
	{Str: "τσ", A: -1, B: 1, F: nil},
}

var A_38 = []*snowballRuntime.Among{
	{Str: "ουσανε", A: -1, B: 1, F: nil},
	{Str: "ησανε", A: -1, B: 1, F: nil},
	{Str: "ουντανε", A: -1, B: 1, F: nil},
	{Str: "ιουντανε", A: 2, B: 1, F: nil},
	{Str: "οντανε", A: -1, B: 1, F: nil},
	{Str: "ιοντανε", A: 4, B: 1, F: nil},
	{Str: "οτανε", A: -1, B: 1, F: nil},
	{Str: "ιοτανε", A: 6, B: 1, F: nil},
	{Str: "αγανε", A: -1, B: 1, F: nil},
	{Str: "ηκανε", A: -1, B: 1, F: nil},
	{Str: "ηθηκανε", A: 9, B: 1, F: nil},
}

var A_39 = []*snowballRuntime.Among{
	{Str: "π", A: -1, B: 1, F: nil},
	{Str: "σπ", A: 0, B: 1, F: nil},
	{Str: "πολυδαπ", A: 0, B: 1, F: nil},
	{Str: "αδαπ", A: 0, B: 1, F: nil},
	{Str: "χαμηλοδαπ", A: 0, B: 1, F: nil},
	{Str: "τσοπ", A: 0, B: 1, F: nil},
	{Str: "κοπ", A: 0, B: 1, F: nil},
	{Str: "υποκοπ", A: 6, B: 1, F: nil},
	{Str: "περιτρ", A: -1, B: 1, F: nil},
	{Str: "ουρ", A: -1, B: 1, F: nil},
	{Str: "ερ", A: -1, B: 1, F: nil},
	{Str: "βετερ", A: 10, B: 1, F: nil},
	{Str: "γερ", A: 10, B: 1, F: nil},
	{Str: "λουθηρ", A: -1, B: 1, F: nil},
	{Str: "κορμορ", A: -1, B: 1, F: nil},
	{Str: "σ", A: -1, B: 1, F: nil},
	{Str: "σαρακατσ", A: 15, B: 1, F: nil},
	{Str: "θυσ", A: 15, B: 1, F: nil},
	{Str: "βασ", A: 15, B: 1, F: nil},
	{Str: "πολισ", A: 15, B: 1, F: nil},
	{Str: "καστ", A: -1, B: 1, F: nil},
	{Str: "διατ", A: -1, B: 1, F: nil},
	{Str: "πλατ", A: -1, B: 1, F: nil},
	{Str: "τσαρλατ", A: -1, B: 1, F: nil},
	{Str: "τετ", A: -1, B: 1, F: nil},
	{Str: "πουριτ", A: -1, B: 1, F: nil},
	{Str: "σουλτ", A: -1, B: 1, F: nil},
	{Str: "ζωντ", A: -1, B: 1, F: nil},
	{Str: "μαιντ", A: -1, B: 1, F: nil},
	{Str: "φ", A: -1, B: 1, F: nil},
	{Str: "πενταρφ", A: 29, B: 1, F: nil},
	{Str: "κοιλαρφ", A: 29, B: 1, F: nil},
	{Str: "ορφ", A: 29, B: 1, F: nil},
	{Str: "διαφ", A: 29, B: 1, F: nil},
	{Str: "στεφ", A: 29, B: 1, F: nil},
	{Str: "φωτοστεφ", A: 34, B: 1, F: nil},
	{Str: "περηφ", A: 29, B: 1, F: nil},
	{Str: "υπερηφ", A: 36, B: 1, F: nil},
	{Str: "χ", A: -1, B: 1, F: nil},
	{Str: "πολυμηχ", A: 38, B: 1, F: nil},
	{Str: "αμηχ", A: 38, B: 1, F: nil},
	{Str: "βιομηχ", A: 38, B: 1, F: nil},
	{Str: "μικροβιομηχ", A: 41, B: 1, F: nil},
	{Str: "μεγλοβιομηχ", A: 41, B: 1, F: nil},
	{Str: "καπνοβιομηχ", A: 41, B: 1, F: nil},
	{Str: "λιχ", A: 38, B: 1, F: nil},
	{Str: "ταβ", A: -1, B: 1, F: nil},
	{Str: "νταβ", A: 46, B: 1, F: nil},
	{Str: "ψηλοταβ", A: 46, B: 1, F: nil},
	{Str: "λιβ", A: -1, B: 1, F: nil},
	{Str: "κλιβ", A: 49, B: 1, F: nil},
	{Str: "ξηροκλιβ", A: 50, B: 1, F: nil},
	{Str: "γ", A: -1, B: 1, F: nil},
	{Str: "ανοργ", A: 52, B: 1, F: nil},
	{Str: "ενοργ", A: 52, B: 1, F: nil},
	{Str: "αγ", A: 52, B: 1, F: nil},
	{Str: "τραγ", A: 55, B: 1, F: nil},
	{Str: "τσαγ", A: 55, B: 1, F: nil},
	{Str: "τσιγγ", A: 52, B: 1, F: nil},
	{Str: "ατσιγγ", A: 58, B: 1, F: nil},
	{Str: "αθιγγ", A: 52, B: 1, F: nil},
	{Str: "στεγ", A: 52, B: 1, F: nil},
	{Str: "απηγ", A: 52, B: 1, F: nil},
	{Str: "σιγ", A: 52, B: 1, F: nil},
	{Str: "καλπουζ", A: -1, B: 1, F: nil},
	{Str: "θ", A: -1, B: 1, F: nil},
	{Str: "μωαμεθ", A: 65, B: 1, F: nil},
	{Str: "πιθ", A: 65, B: 1, F: nil},
	{Str: "απιθ", A: 67, B: 1, F: nil},
	{Str: "βασκ", A: -1, B: 1, F: nil},
	{Str: "βραχυκ", A: -1, B: 1, F: nil},
	{Str: "δεκ", A: -1, B: 1, F: nil},
	{Str: "πελεκ", A: -1, B: 1, F: nil},
	{Str: "ικ", A: -1, B: 1, F: nil},
	{Str: "ανικ", A: 73, B: 1, F: nil},
	{Str: "βουλκ", A: -1, B: 1, F: nil},
	{Str: "πλ", A: -1, B: 1, F: nil},
	{Str: "διπλ", A: 76, B: 1, F: nil},
	{Str: "ψυχοπλ", A: 76, B: 1, F: nil},
	{Str: "λαοπλ", A: 76, B: 1, F: nil},
	{Str: "ουλ", A: -1, B: 1, F: nil},
	{Str: "γαλ", A: -1, B: 1, F: nil},
	{Str: "βαθυγαλ", A: 81, B: 1, F: nil},
	{Str: "καταγαλ", A: 81, B: 1, F: nil},
	{Str: "ολογαλ", A: 81, B: 1, F: nil},
	{Str: "καστελ", A: -1, B: 1, F: nil},
	{Str: "μελ", A: -1, B: 1, F: nil},
	{Str: "πορτολ", A: -1, B: 1, F: nil},
	{Str: "μ", A: -1, B: 1, F: nil},
	{Str: "δραδουμ", A: 88, B: 1, F: nil},
	{Str: "βραχμ", A: 88, B: 1, F: nil},
	{Str: "ολιγοδαμ", A: 88, B: 1, F: nil},
	{Str: "μουσουλμ", A: 88, B: 1, F: nil},
	{Str: "ν", A: -1, B: 1, F: nil},
	{Str: "αμερικαν", A: 93, B: 1, F: nil},
}

var A_40 = []*snowballRuntime.Among{
	{Str: "πυρ", A: -1, B: 1, F: nil},
	{Str: "ευρ", A: -1, B: 1, F: nil},
	{Str: "χωρ", A: -1, B: 1, F: nil},
	{Str: "βαρ", A: -1, B: 1, F: nil},
	{Str: "βρ", A: -1, B: 1, F: nil},
	{Str: "αιρ", A: -1, B: 1, F: nil},
	{Str: "φορ", A: -1, B: 1, F: nil},
	{Str: "νετ", A: -1, B: 1, F: nil},
	{Str: "σχ", A: -1, B: 1, F: nil},
	{Str: "συνδ", A: -1, B: 1, F: nil},
	{Str: "ενδ", A: -1, B: 1, F: nil},
	{Str: "οδ", A: -1, B: 1, F: nil},
	{Str: "υπερθ", A: -1, B: 1, F: nil},
	{Str: "σθ", A: -1, B: 1, F: nil},
	{Str: "ευθ", A: -1, B: 1, F: nil},
	{Str: "ραθ", A: -1, B: 1, F: nil},
	{Str: "ταθ", A: -1, B: 1, F: nil},
	{Str: "διαθ", A: -1, B: 1, F: nil},
	{Str: "καθ", A: -1, B: 1, F: nil},
	{Str: "τιθ", A: -1, B: 1, F: nil},
	{Str: "εκθ", A: -1, B: 1, F: nil},
	{Str: "συνθ", A: -1, B: 1, F: nil},
	{Str: "ενθ", A: -1, B: 1, F: nil},
	{Str: "ροθ", A: -1, B: 1, F: nil},
	{Str: "αρκ", A: -1, B: 1, F: nil},
	{Str: "ωφελ", A: -1, B: 1, F: nil},
	{Str: "βολ", A: -1, B: 1, F: nil},
	{Str: "συν", A: -1, B: 1, F: nil},
	{Str: "αιν", A: -1, B: 1, F: nil},
	{Str: "πον", A: -1, B: 1, F: nil},
	{Str: "ρον", A: -1, B: 1, F: nil},
}

var A_41 = []*snowballRuntime.Among{
	{Str: "σερπ", A: -1, B: 1, F: nil},
	{Str: "κοπ", A: -1, B: 1, F: nil},
	{Str: "θαρρ", A: -1, B: 1, F: nil},
	{Str: "ντρ", A: -1, B: 1, F: nil},
	{Str: "αβαρ", A: -1, B: 1, F: nil},
	{Str: "εναρ", A: -1, B: 1, F: nil},
	{Str: "αβρ", A: -1, B: 1, F: nil},
	{Str: "μπορ", A: -1, B: 1, F: nil},
	{Str: "υ", A: -1, B: 1, F: nil},
	{Str: "συρφ", A: -1, B: 1, F: nil},
	{Str: "νιφ", A: -1, B: 1, F: nil},
	{Str: "παγ", A: -1, B: 1, F: nil},
	{Str: "δ", A: -1, B: 1, F: nil},
	{Str: "αδ", A: 12, B: 1, F: nil},
	{Str: "θ", A: -1, B: 1, F: nil},
	{Str: "αθ", A: 14, B: 1, F: nil},
	{Str: "σκ", A: -1, B: 1, F: nil},
	{Str: "τοκ", A: -1, B: 1, F: nil},
	{Str: "απλ", A: -1, B: 1, F: nil},
	{Str: "παρακαλ", A: -1, B: 1, F: nil},
	{Str: "σκελ", A: -1, B: 1, F: nil},
	{Str: "εμ", A: -1, B: 1, F: nil},
	{Str: "αν", A: -1, B: 1, F: nil},
	{Str: "βεν", A: -1, B: 1, F: nil},
	{Str: "βαρον", A: -1, B: 1, F: nil},
}

var A_42 = []*snowballRuntime.Among{
	{Str: "ωντασ", A: -1, B: 1, F: nil},
	{Str: "οντασ", A: -1, B: 1, F: nil},
}

var A_43 = []*snowballRuntime.Among{
	{Str: "ομαστε", A: -1, B: 1, F: nil},
	{Str: "ιομαστε", A: 0, B: 1, F: nil},
}

var A_44 = []*snowballRuntime.Among{
	{Str: "π", A: -1, B: 1, F: nil},
	{Str: "απ", A: 0, B: 1, F: nil},
	{Str: "ακαταπ", A: 1, B: 1, F: nil},
	{Str: "συμπ", A: 0, B: 1, F: nil},
	{Str: "ασυμπ", A: 3, B: 1, F: nil},
	{Str: "αμεταμφ", A: -1, B: 1, F: nil},
}

var A_45 = []*snowballRuntime.Among{
	{Str: "αρ", A: -1, B: 1, F: nil},
	{Str: "νισ", A: -1, B: 1, F: nil},
	{Str: "ζ", A: -1, B: 1, F: nil},
	{Str: "αλ", A: -1, B: 1, F: nil},
	{Str: "παρακαλ", A: 3, B: 1, F: nil},
	{Str: "εκτελ", A: -1, B: 1, F: nil},
	{Str: "μ", A: -1, B: 1, F: nil},
	{Str: "ξ", A: -1, B: 1, F: nil},
	{Str: "προ", A: -1, B: 1, F: nil},
}

var A_46 = []*snowballRuntime.Among{
	{Str: "ηθηκεσ", A: -1, B: 1, F: nil},
	{Str: "ηθηκα", A: -1, B: 1, F: nil},
	{Str: "ηθηκε", A: -1, B: 1, F: nil},
}

var A_47 = []*snowballRuntime.Among{
	{Str: "σφ", A: -1, B: 1, F: nil},
	{Str: "ναρθ", A: -1, B: 1, F: nil},
	{Str: "πιθ", A: -1, B: 1, F: nil},
	{Str: "οθ", A: -1, B: 1, F: nil},
	{Str: "σκουλ", A: -1, B: 1, F: nil},
	{Str: "σκωλ", A: -1, B: 1, F: nil},
}

var A_48 = []*snowballRuntime.Among{
	{Str: "θ", A: -1, B: 1, F: nil},
	{Str: "προσθ", A: 0, B: 1, F: nil},
	{Str: "παρακαταθ", A: 0, B: 1, F: nil},
	{Str: "διαθ", A: 0, B: 1, F: nil},
	{Str: "συνθ", A: 0, B: 1, F: nil},
}

var A_49 = []*snowballRuntime.Among{
	{Str: "ηκεσ", A: -1, B: 1, F: nil},
	{Str: "ηκα", A: -1, B: 1, F: nil},
	{Str: "ηκε", A: -1, B: 1, F: nil},
}

var A_50 = []*snowballRuntime.Among{
	{Str: "βλεπ", A: -1, B: 1, F: nil},
	{Str: "ποδαρ", A: -1, B: 1, F: nil},
	{Str: "πρωτ", A: -1, B: 1, F: nil},
	{Str: "κυματ", A: -1, B: 1, F: nil},
	{Str: "πανταχ", A: -1, B: 1, F: nil},
	{Str: "λαχ", A: -1, B: 1, F: nil},
	{Str: "φαγ", A: -1, B: 1, F: nil},
	{Str: "ληγ", A: -1, B: 1, F: nil},
	{Str: "φρυδ", A: -1, B: 1, F: nil},
	{Str: "μαντιλ", A: -1, B: 1, F: nil},
	{Str: "μαλλ", A: -1, B: 1, F: nil},
	{Str: "ομ", A: -1, B: 1, F: nil},
}

var A_51 = []*snowballRuntime.Among{
	{Str: "εκλιπ", A: -1, B: 1, F: nil},
	{Str: "ρ", A: -1, B: 1, F: nil},
	{Str: "αναρρ", A: 1, B: 1, F: nil},
	{Str: "ενδιαφερ", A: 1, B: 1, F: nil},
	{Str: "πατ", A: -1, B: 1, F: nil},
	{Str: "καθαρευ", A: -1, B: 1, F: nil},
	{Str: "δευτερευ", A: -1, B: 1, F: nil},
	{Str: "λεχ", A: -1, B: 1, F: nil},
	{Str: "τσα", A: -1, B: 1, F: nil},
	{Str: "χαδ", A: -1, B: 1, F: nil},
	{Str: "μεδ", A: -1, B: 1, F: nil},
	{Str: "λαμπιδ", A: -1, B: 1, F: nil},
	{Str: "δε", A: -1, B: 1, F: nil},
	{Str: "πλε", A: -1, B: 1, F: nil},
	{Str: "μεσαζ", A: -1, B: 1, F: nil},
	{Str: "δεσποζ", A: -1, B: 1, F: nil},
	{Str: "αιθ", A: -1, B: 1, F: nil},
	{Str: "φαρμακ", A: -1, B: 1, F: nil},
	{Str: "αγκ", A: -1, B: 1, F: nil},
	{Str: "ανηκ", A: -1, B: 1, F: nil},
	{Str: "λ", A: -1, B: 1, F: nil},
	{Str: "μ", A: -1, B: 1, F: nil},
	{Str: "αμ", A: 21, B: 1, F: nil},
	{Str: "βρομ", A: 21, B: 1, F: nil},
	{Str: "υποτειν", A: -1, B: 1, F: nil},
}

var A_52 = []*snowballRuntime.Among{
	{Str: "ουσεσ", A: -1, B: 1, F: nil},
	{Str: "ουσα", A: -1, B: 1, F: nil},
	{Str: "ουσε", A: -1, B: 1, F: nil},
}

var A_53 = []*snowballRuntime.Among{
	{Str: "ρπ", A: -1, B: 1, F: nil},
	{Str: "πρ", A: -1, B: 1, F: nil},
	{Str: "φρ", A: -1, B: 1, F: nil},
	{Str: "χορτ", A: -1, B: 1, F: nil},
	{Str: "σφ", A: -1, B: 1, F: nil},
	{Str: "οφ", A: -1, B: 1, F: nil},
	{Str: "ψοφ", A: 5, B: -1, F: nil},
	{Str: "λοχ", A: -1, B: 1, F: nil},
	{Str: "ναυλοχ", A: 7, B: -1, F: nil},
	{Str: "πελ", A: -1, B: 1, F: nil},
	{Str: "λλ", A: -1, B: 1, F: nil},
	{Str: "σμην", A: -1, B: 1, F: nil},
}

var A_54 = []*snowballRuntime.Among{
	{Str: "π", A: -1, B: 1, F: nil},
	{Str: "ασπ", A: 0, B: 1, F: nil},
	{Str: "ανυπ", A: 0, B: 1, F: nil},
	{Str: "αρτιπ", A: 0, B: 1, F: nil},
	{Str: "αειπ", A: 0, B: 1, F: nil},
	{Str: "συμπ", A: 0, B: 1, F: nil},
	{Str: "προσωποπ", A: 0, B: 1, F: nil},
	{Str: "σιδηροπ", A: 0, B: 1, F: nil},
	{Str: "δροσοπ", A: 0, B: 1, F: nil},
	{Str: "νεοπ", A: 0, B: 1, F: nil},
	{Str: "κροκαλοπ", A: 0, B: 1, F: nil},
	{Str: "ολοπ", A: 0, B: 1, F: nil},
	{Str: "ρ", A: -1, B: 1, F: nil},
	{Str: "τρ", A: 12, B: 1, F: nil},
	{Str: "ουρ", A: 12, B: 1, F: nil},
	{Str: "ασπαρ", A: 12, B: 1, F: nil},
	{Str: "χαρ", A: 12, B: 1, F: nil},
	{Str: "αχαρ", A: 16, B: 1, F: nil},
	{Str: "απερ", A: 12, B: 1, F: nil},
	{Str: "τ", A: -1, B: 1, F: nil},
	{Str: "ανυστ", A: 19, B: 1, F: nil},
	{Str: "αβαστ", A: 19, B: 1, F: nil},
	{Str: "προστ", A: 19, B: 1, F: nil},
	{Str: "αιμοστ", A: 19, B: 1, F: nil},
	{Str: "διατ", A: 19, B: 1, F: nil},
	{Str: "επιτ", A: 19, B: 1, F: nil},
	{Str: "συντ", A: 19, B: 1, F: nil},
	{Str: "υποτ", A: 19, B: 1, F: nil},
	{Str: "αποτ", A: 19, B: 1, F: nil},
	{Str: "ομοτ", A: 19, B: 1, F: nil},
	{Str: "νομοτ", A: 29, B: 1, F: nil},
	{Str: "ναυ", A: -1, B: 1, F: nil},
	{Str: "πολυφ", A: -1, B: 1, F: nil},
	{Str: "αφ", A: -1, B: 1, F: nil},
	{Str: "ξεφ", A: -1, B: 1, F: nil},
	{Str: "αδηφ", A: -1, B: 1, F: nil},
	{Str: "παμφ", A: -1, B: 1, F: nil},
	{Str: "αμαλλι", A: -1, B: 1, F: nil},
	{Str: "λ", A: -1, B: 1, F: nil},
	{Str: "αμαλ", A: 38, B: 1, F: nil},
	{Str: "μ", A: -1, B: 1, F: nil},
	{Str: "ουλαμ", A: 40, B: 1, F: nil},
	{Str: "εν", A: -1, B: 1, F: nil},
	{Str: "δερβεν", A: 42, B: 1, F: nil},
}

var A_55 = []*snowballRuntime.Among{
	{Str: "αγεσ", A: -1, B: 1, F: nil},
	{Str: "αγα", A: -1, B: 1, F: nil},
	{Str: "αγε", A: -1, B: 1, F: nil},
}

var A_56 = []*snowballRuntime.Among{
	{Str: "ησου", A: -1, B: 1, F: nil},
	{Str: "ησα", A: -1, B: 1, F: nil},
	{Str: "ησε", A: -1, B: 1, F: nil},
}

var A_57 = []*snowballRuntime.Among{
	{Str: "ν", A: -1, B: 1, F: nil},
	{Str: "επταν", A: 0, B: 1, F: nil},
	{Str: "δωδεκαν", A: 0, B: 1, F: nil},
	{Str: "χερσον", A: 0, B: 1, F: nil},
	{Str: "μεγαλον", A: 0, B: 1, F: nil},
	{Str: "ερημον", A: 0, B: 1, F: nil},
}

var A_58 = []*snowballRuntime.Among{
	{Str: "χρ", A: -1, B: 1, F: nil},
	{Str: "δυσχρ", A: 0, B: 1, F: nil},
	{Str: "ευχρ", A: 0, B: 1, F: nil},
	{Str: "αχρ", A: 0, B: 1, F: nil},
	{Str: "κοινοχρ", A: 0, B: 1, F: nil},
	{Str: "παλιμψ", A: -1, B: 1, F: nil},
	{Str: "σβ", A: -1, B: 1, F: nil},
	{Str: "ασβ", A: 6, B: 1, F: nil},
	{Str: "απλ", A: -1, B: 1, F: nil},
	{Str: "αειμν", A: -1, B: 1, F: nil},
}

var A_59 = []*snowballRuntime.Among{
	{Str: "ουνε", A: -1, B: 1, F: nil},
	{Str: "ησουνε", A: 0, B: 1, F: nil},
	{Str: "ηθουνε", A: 0, B: 1, F: nil},
}

var A_60 = []*snowballRuntime.Among{
	{Str: "ρ", A: -1, B: 1, F: nil},
	{Str: "στραβομουτσ", A: -1, B: 1, F: nil},
	{Str: "κακομουτσ", A: -1, B: 1, F: nil},
	{Str: "σπι", A: -1, B: 1, F: nil},
	{Str: "ν", A: -1, B: 1, F: nil},
	{Str: "εξων", A: 4, B: 1, F: nil},
}

var A_61 = []*snowballRuntime.Among{
	{Str: "ουμε", A: -1, B: 1, F: nil},
	{Str: "ησουμε", A: 0, B: 1, F: nil},
	{Str: "ηθουμε", A: 0, B: 1, F: nil},
}

var A_62 = []*snowballRuntime.Among{
	{Str: "ασουσ", A: -1, B: 1, F: nil},
	{Str: "παρασουσ", A: 0, B: 1, F: nil},
	{Str: "αλλοσουσ", A: -1, B: 1, F: nil},
	{Str: "φ", A: -1, B: 1, F: nil},
	{Str: "χ", A: -1, B: 1, F: nil},
	{Str: "αζ", A: -1, B: 1, F: nil},
	{Str: "ωριοπλ", A: -1, B: 1, F: nil},
}

var A_63 = []*snowballRuntime.Among{
	{Str: "ματοσ", A: -1, B: 1, F: nil},
	{Str: "ματα", A: -1, B: 1, F: nil},
	{Str: "ματων", A: -1, B: 1, F: nil},
}

var A_64 = []*snowballRuntime.Among{
	{Str: "υσ", A: -1, B: 1, F: nil},
	{Str: "ουσ", A: 0, B: 1, F: nil},
	{Str: "ασ", A: -1, B: 1, F: nil},
	{Str: "εσ", A: -1, B: 1, F: nil},
	{Str: "ησεσ", A: 3, B: 1, F: nil},
	{Str: "ηδεσ", A: 3, B: 1, F: nil},
	{Str: "ησ", A: -1, B: 1, F: nil},
	{Str: "εισ", A: -1, B: 1, F: nil},
	{Str: "ηθεισ", A: 7, B: 1, F: nil},
	{Str: "οσ", A: -1, B: 1, F: nil},
	{Str: "υ", A: -1, B: 1, F: nil},
	{Str: "ου", A: 10, B: 1, F: nil},
	{Str: "ω", A: -1, B: 1, F: nil},
	{Str: "ησω", A: 12, B: 1, F: nil},
	{Str: "αω", A: 12, B: 1, F: nil},
	{Str: "ηθω", A: 12, B: 1, F: nil},
	{Str: "α", A: -1, B: 1, F: nil},
	{Str: "ιουμα", A: 16, B: 1, F: nil},
	{Str: "οσουνα", A: 16, B: 1, F: nil},
	{Str: "ιοσουνα", A: 18, B: 1, F: nil},
	{Str: "ομουνα", A: 16, B: 1, F: nil},
	{Str: "ιομουνα", A: 20, B: 1, F: nil},
	{Str: "ε", A: -1, B: 1, F: nil},
	{Str: "ιεσαστε", A: 22, B: 1, F: nil},
	{Str: "οσαστε", A: 22, B: 1, F: nil},
	{Str: "ιοσαστε", A: 24, B: 1, F: nil},
	{Str: "ουμαστε", A: 22, B: 1, F: nil},
	{Str: "ιουμαστε", A: 26, B: 1, F: nil},
	{Str: "ιεμαστε", A: 22, B: 1, F: nil},
	{Str: "ουσατε", A: 22, B: 1, F: nil},
	{Str: "ησατε", A: 22, B: 1, F: nil},
	{Str: "αγατε", A: 22, B: 1, F: nil},
	{Str: "ηκατε", A: 22, B: 1, F: nil},
	{Str: "ηθηκατε", A: 32, B: 1, F: nil},
	{Str: "ειτε", A: 22, B: 1, F: nil},
	{Str: "ηθειτε", A: 34, B: 1, F: nil},
	{Str: "η", A: -1, B: 1, F: nil},
	{Str: "ι", A: -1, B: 1, F: nil},
	{Str: "ασαι", A: 37, B: 1, F: nil},
	{Str: "εσαι", A: 37, B: 1, F: nil},
	{Str: "ιεσαι", A: 39, B: 1, F: nil},
	{Str: "αται", A: 37, B: 1, F: nil},
	{Str: "εται", A: 37, B: 1, F: nil},
	{Str: "ιεται", A: 42, B: 1, F: nil},
	{Str: "ουνται", A: 37, B: 1, F: nil},
	{Str: "ιουνται", A: 44, B: 1, F: nil},
	{Str: "ονται", A: 37, B: 1, F: nil},
	{Str: "ουμαι", A: 37, B: 1, F: nil},
	{Str: "αμαι", A: 37, B: 1, F: nil},
	{Str: "ιεμαι", A: 37, B: 1, F: nil},
	{Str: "ομαι", A: 37, B: 1, F: nil},
	{Str: "ει", A: 37, B: 1, F: nil},
	{Str: "ησει", A: 51, B: 1, F: nil},
	{Str: "αει", A: 51, B: 1, F: nil},
	{Str: "ηθει", A: 51, B: 1, F: nil},
	{Str: "οι", A: 37, B: 1, F: nil},
	{Str: "ουν", A: -1, B: 1, F: nil},
	{Str: "ησουν", A: 56, B: 1, F: nil},
	{Str: "οσουν", A: 56, B: 1, F: nil},
	{Str: "ιοσουν", A: 58, B: 1, F: nil},
	{Str: "ηθουν", A: 56, B: 1, F: nil},
	{Str: "ομουν", A: 56, B: 1, F: nil},
	{Str: "ιομουν", A: 61, B: 1, F: nil},
	{Str: "ων", A: -1, B: 1, F: nil},
	{Str: "ηδων", A: 63, B: 1, F: nil},
	{Str: "αν", A: -1, B: 1, F: nil},
	{Str: "ουσαν", A: 65, B: 1, F: nil},
	{Str: "οντουσαν", A: 66, B: 1, F: nil},
	{Str: "ιοντουσαν", A: 67, B: 1, F: nil},
	{Str: "ησαν", A: 65, B: 1, F: nil},
	{Str: "οσασταν", A: 65, B: 1, F: nil},
	{Str: "ιοσασταν", A: 70, B: 1, F: nil},
	{Str: "ομασταν", A: 65, B: 1, F: nil},
	{Str: "ιομασταν", A: 72, B: 1, F: nil},
	{Str: "ουνταν", A: 65, B: 1, F: nil},
	{Str: "ιουνταν", A: 74, B: 1, F: nil},
	{Str: "ονταν", A: 65, B: 1, F: nil},
	{Str: "ιονταν", A: 76, B: 1, F: nil},
	{Str: "οταν", A: 65, B: 1, F: nil},
	{Str: "ιοταν", A: 78, B: 1, F: nil},
	{Str: "αγαν", A: 65, B: 1, F: nil},
	{Str: "ηκαν", A: 65, B: 1, F: nil},
	{Str: "ηθηκαν", A: 81, B: 1, F: nil},
	{Str: "ο", A: -1, B: 1, F: nil},
}

var A_65 = []*snowballRuntime.Among{
	{Str: "εστερ", A: -1, B: 1, F: nil},
	{Str: "υτερ", A: -1, B: 1, F: nil},
	{Str: "ωτερ", A: -1, B: 1, F: nil},
	{Str: "οτερ", A: -1, B: 1, F: nil},
	{Str: "εστατ", A: -1, B: 1, F: nil},
	{Str: "υτατ", A: -1, B: 1, F: nil},
	{Str: "ωτατ", A: -1, B: 1, F: nil},
	{Str: "οτατ", A: -1, B: 1, F: nil},
}

var G_v = []byte{81, 65, 16, 1}

var G_v2 = []byte{81, 65, 0, 1}

type Context struct {
}

func Stem(env *snowballRuntime.Env) bool {
	var context = &Context{}
	_ = context
	var among_var int32
	var b_test1 bool
	env.LimitBackward = env.Cursor
	env.Cursor = env.Limit
	var v_1 = env.Limit - env.Cursor
lab0:
	for {
	replab1:
		for {
			var v_2 = env.Limit - env.Cursor
		lab2:
			for range [2]struct{}{} {
				env.Ket = env.Cursor
				among_var = env.FindAmongB(A_0, context)
				env.Bra = env.Cursor
				switch among_var {
				case 1:
					env.SliceFrom("α")
				case 2:
					env.SliceFrom("β")
				case 3:
					env.SliceFrom("γ")
				case 4:
					env.SliceFrom("δ")
				case 5:
					env.SliceFrom("ε")
				case 6:
					env.SliceFrom("ζ")
				case 7:
					env.SliceFrom("η")
				case 8:
					env.SliceFrom("θ")
				case 9:
					env.SliceFrom("ι")
				case 10:
					env.SliceFrom("κ")
				case 11:
					env.SliceFrom("λ")
				case 12:
					env.SliceFrom("μ")
				case 13:
					env.SliceFrom("ν")
				case 14:
					env.SliceFrom("ξ")
				case 15:
					env.SliceFrom("ο")
				case 16:
					env.SliceFrom("π")
				case 17:
					env.SliceFrom("ρ")
				case 18:
					env.SliceFrom("σ")
				case 19:
					env.SliceFrom("τ")
				case 20:
					env.SliceFrom("υ")
				case 21:
					env.SliceFrom("φ")
				case 22:
					env.SliceFrom("χ")
				case 23:
					env.SliceFrom("ψ")
				case 24:
					env.SliceFrom("ω")
				case 25:
					if env.Cursor <= env.LimitBackward {
						break lab2
					}
					env.PrevChar()
				}
				continue replab1
			}
			env.Cursor = env.Limit - v_2
			break replab1
		}
		break lab0
	}
	env.Cursor = env.Limit - v_1
	if snowballRuntime.RuneCountInString(env.Current()) < 3 {
		return false
	}
	b_test1 = true
	var v_3 = env.Limit - env.Cursor
lab3:
	for {
		env.Ket = env.Cursor
		among_var = env.FindAmongB(A_1, context)
		if among_var == 0 {
			break lab3
		}
		env.Bra = env.Cursor
		switch among_var {
		case 1:
			env.SliceFrom("φα")
		case 2:
			env.SliceFrom("σκα")
		case 3:
			env.SliceFrom("ολο")
		case 4:
			env.SliceFrom("σο")
		case 5:
			env.SliceFrom("τατο")
		case 6:
			env.SliceFrom("κρε")
		case 7:
			env.SliceFrom("περ")
		case 8:
			env.SliceFrom("τερ")
		case 9:
			env.SliceFrom("φω")
		case 10:
			env.SliceFrom("καθεστ")
		case 11:
			env.SliceFrom("γεγον")
		}
		b_test1 = false
		break lab3
	}
	env.Cursor = env.Limit - v_3
	var v_4 = env.Limit - env.Cursor
lab4:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_3, context) == 0 {
			break lab4
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		among_var = env.FindAmongB(A_2, context)
		if among_var == 0 {
			break lab4
		}
		if env.Cursor > env.LimitBackward {
			break lab4
		}
		switch among_var {
		case 1:
			env.SliceFrom("ι")
		case 2:
			env.SliceFrom("ιζ")
		}
		break lab4
	}
	env.Cursor = env.Limit - v_4
	var v_5 = env.Limit - env.Cursor
lab5:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_5, context) == 0 {
			break lab5
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_4, context) == 0 {
			break lab5
		}
		if env.Cursor > env.LimitBackward {
			break lab5
		}
		env.SliceFrom("ων")
		break lab5
	}
	env.Cursor = env.Limit - v_5
	var v_6 = env.Limit - env.Cursor
lab6:
	for {
	lab7:
		for {
			var v_7 = env.Limit - env.Cursor
		lab8:
			for {
				env.Ket = env.Cursor
				if !env.EqSB("ισα") {
					break lab8
				}
				env.Bra = env.Cursor
				if env.Cursor > env.LimitBackward {
					break lab8
				}
				env.SliceFrom("ισ")
				break lab7
			}
			env.Cursor = env.Limit - v_7
			env.Ket = env.Cursor
			break lab7
		}
		if env.FindAmongB(A_7, context) == 0 {
			break lab6
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		among_var = env.FindAmongB(A_6, context)
		if among_var == 0 {
			break lab6
		}
		if env.Cursor > env.LimitBackward {
			break lab6
		}
		switch among_var {
		case 1:
			env.SliceFrom("ι")
		case 2:
			env.SliceFrom("ισ")
		}
		break lab6
	}
	env.Cursor = env.Limit - v_6
	var v_8 = env.Limit - env.Cursor
lab9:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_9, context) == 0 {
			break lab9
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_8, context) == 0 {
			break lab9
		}
		if env.Cursor > env.LimitBackward {
			break lab9
		}
		env.SliceFrom("ι")
		break lab9
	}
	env.Cursor = env.Limit - v_8
	var v_9 = env.Limit - env.Cursor
lab10:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_11, context) == 0 {
			break lab10
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		among_var = env.FindAmongB(A_10, context)
		if among_var == 0 {
			break lab10
		}
		if env.Cursor > env.LimitBackward {
			break lab10
		}
		switch among_var {
		case 1:
			env.SliceFrom("ι")
		case 2:
			env.SliceFrom("ιστ")
		}
		break lab10
	}
	env.Cursor = env.Limit - v_9
	var v_10 = env.Limit - env.Cursor
lab11:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_14, context) == 0 {
			break lab11
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab12:
		for {
			var v_11 = env.Limit - env.Cursor
		lab13:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				among_var = env.FindAmongB(A_12, context)
				if among_var == 0 {
					break lab13
				}
				if env.Cursor > env.LimitBackward {
					break lab13
				}
				switch among_var {
				case 1:
					env.SliceFrom("ισμ")
				case 2:
					env.SliceFrom("ι")
				}
				break lab12
			}
			env.Cursor = env.Limit - v_11
			env.Ket = env.Cursor
			among_var = env.FindAmongB(A_13, context)
			if among_var == 0 {
				break lab11
			}
			env.Bra = env.Cursor
			switch among_var {
			case 1:
				env.SliceFrom("αγνωστ")
			case 2:
				env.SliceFrom("ατομ")
			case 3:
				env.SliceFrom("γνωστ")
			case 4:
				env.SliceFrom("εθν")
			case 5:
				env.SliceFrom("εκλεκτ")
			case 6:
				env.SliceFrom("σκεπτ")
			case 7:
				env.SliceFrom("τοπ")
			case 8:
				env.SliceFrom("αλεξανδρ")
			case 9:
				env.SliceFrom("βυζαντ")
			case 10:
				env.SliceFrom("θεατρ")
			}
			break lab12
		}
		break lab11
	}
	env.Cursor = env.Limit - v_10
	var v_12 = env.Limit - env.Cursor
lab14:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_16, context) == 0 {
			break lab14
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_15, context) == 0 {
			break lab14
		}
		if env.Cursor > env.LimitBackward {
			break lab14
		}
		env.SliceFrom("αρακ")
		break lab14
	}
	env.Cursor = env.Limit - v_12
	var v_13 = env.Limit - env.Cursor
lab15:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_18, context) == 0 {
			break lab15
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab16:
		for {
			var v_14 = env.Limit - env.Cursor
		lab17:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				among_var = env.FindAmongB(A_17, context)
				if among_var == 0 {
					break lab17
				}
				if env.Cursor > env.LimitBackward {
					break lab17
				}
				switch among_var {
				case 1:
					env.SliceFrom("ακ")
				case 2:
					env.SliceFrom("ιτσ")
				}
				break lab16
			}
			env.Cursor = env.Limit - v_14
			env.Ket = env.Cursor
			env.Bra = env.Cursor
			if !env.EqSB("κορ") {
				break lab15
			}
			env.SliceFrom("ιτσ")
			break lab16
		}
		break lab15
	}
	env.Cursor = env.Limit - v_13
	var v_15 = env.Limit - env.Cursor
lab18:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_21, context) == 0 {
			break lab18
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab19:
		for {
			var v_16 = env.Limit - env.Cursor
		lab20:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if env.FindAmongB(A_19, context) == 0 {
					break lab20
				}
				if env.Cursor > env.LimitBackward {
					break lab20
				}
				env.SliceFrom("ιδ")
				break lab19
			}
			env.Cursor = env.Limit - v_16
			env.Ket = env.Cursor
			env.Bra = env.Cursor
			if env.FindAmongB(A_20, context) == 0 {
				break lab18
			}
			env.SliceFrom("ιδ")
			break lab19
		}
		break lab18
	}
	env.Cursor = env.Limit - v_15
	var v_17 = env.Limit - env.Cursor
lab21:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_23, context) == 0 {
			break lab21
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_22, context) == 0 {
			break lab21
		}
		if env.Cursor > env.LimitBackward {
			break lab21
		}
		env.SliceFrom("ισκ")
		break lab21
	}
	env.Cursor = env.Limit - v_17
	var v_18 = env.Limit - env.Cursor
lab22:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_24, context) == 0 {
			break lab22
		}
		env.Bra = env.Cursor
		env.SliceDel()
		var v_19 = env.Limit - env.Cursor
	lab23:
		for {
			if env.FindAmongB(A_25, context) == 0 {
				break lab23
			}
			break lab22
		}
		env.Cursor = env.Limit - v_19
		{
			var c = env.Cursor
			bra, ket := env.Cursor, env.Cursor
			env.Insert(bra, ket, "αδ")
			env.Cursor = c
		}
		break lab22
	}
	env.Cursor = env.Limit - v_18
	var v_20 = env.Limit - env.Cursor
lab24:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_26, context) == 0 {
			break lab24
		}
		env.Bra = env.Cursor
		env.SliceDel()
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_27, context) == 0 {
			break lab24
		}
		env.SliceFrom("εδ")
		break lab24
	}
	env.Cursor = env.Limit - v_20
	var v_21 = env.Limit - env.Cursor
lab25:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_28, context) == 0 {
			break lab25
		}
		env.Bra = env.Cursor
		env.SliceDel()
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_29, context) == 0 {
			break lab25
		}
		env.SliceFrom("ουδ")
		break lab25
	}
	env.Cursor = env.Limit - v_21
	var v_22 = env.Limit - env.Cursor
lab26:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_30, context) == 0 {
			break lab26
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_31, context) == 0 {
			break lab26
		}
		if env.Cursor > env.LimitBackward {
			break lab26
		}
		env.SliceFrom("ε")
		break lab26
	}
	env.Cursor = env.Limit - v_22
	var v_23 = env.Limit - env.Cursor
lab27:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_32, context) == 0 {
			break lab27
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if !env.InGroupingB(G_v, 945, 969) {
			break lab27
		}
		env.SliceFrom("ι")
		break lab27
	}
	env.Cursor = env.Limit - v_23
	var v_24 = env.Limit - env.Cursor
lab28:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_33, context) == 0 {
			break lab28
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab29:
		for {
			var v_25 = env.Limit - env.Cursor
		lab30:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if !env.InGroupingB(G_v, 945, 969) {
					break lab30
				}
				env.SliceFrom("ικ")
				break lab29
			}
			env.Cursor = env.Limit - v_25
			env.Ket = env.Cursor
			break lab29
		}
		env.Bra = env.Cursor
		if env.FindAmongB(A_34, context) == 0 {
			break lab28
		}
		if env.Cursor > env.LimitBackward {
			break lab28
		}
		env.SliceFrom("ικ")
		break lab28
	}
	env.Cursor = env.Limit - v_24
	var v_26 = env.Limit - env.Cursor
lab31:
	for {
		var v_27 = env.Limit - env.Cursor
	lab32:
		for {
			env.Ket = env.Cursor
			if !env.EqSB("αγαμε") {
				break lab32
			}
			env.Bra = env.Cursor
			if env.Cursor > env.LimitBackward {
				break lab32
			}
			env.SliceFrom("αγαμ")
			break lab32
		}
		env.Cursor = env.Limit - v_27
		var v_28 = env.Limit - env.Cursor
	lab33:
		for {
			env.Ket = env.Cursor
			if env.FindAmongB(A_35, context) == 0 {
				break lab33
			}
			env.Bra = env.Cursor
			env.SliceDel()
			b_test1 = false
			break lab33
		}
		env.Cursor = env.Limit - v_28
		env.Ket = env.Cursor
		if !env.EqSB("αμε") {
			break lab31
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_36, context) == 0 {
			break lab31
		}
		if env.Cursor > env.LimitBackward {
			break lab31
		}
		env.SliceFrom("αμ")
		break lab31
	}
	env.Cursor = env.Limit - v_26
	var v_29 = env.Limit - env.Cursor
lab34:
	for {
		var v_30 = env.Limit - env.Cursor
	lab35:
		for {
			env.Ket = env.Cursor
			if env.FindAmongB(A_38, context) == 0 {
				break lab35
			}
			env.Bra = env.Cursor
			env.SliceDel()
			b_test1 = false
			env.Ket = env.Cursor
			env.Bra = env.Cursor
			if env.FindAmongB(A_37, context) == 0 {
				break lab35
			}
			if env.Cursor > env.LimitBackward {
				break lab35
			}
			env.SliceFrom("αγαν")
			break lab35
		}
		env.Cursor = env.Limit - v_30
		env.Ket = env.Cursor
		if !env.EqSB("ανε") {
			break lab34
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab36:
		for {
			var v_31 = env.Limit - env.Cursor
		lab37:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if !env.InGroupingB(G_v2, 945, 969) {
					break lab37
				}
				env.SliceFrom("αν")
				break lab36
			}
			env.Cursor = env.Limit - v_31
			env.Ket = env.Cursor
			break lab36
		}
		env.Bra = env.Cursor
		if env.FindAmongB(A_39, context) == 0 {
			break lab34
		}
		if env.Cursor > env.LimitBackward {
			break lab34
		}
		env.SliceFrom("αν")
		break lab34
	}
	env.Cursor = env.Limit - v_29
	var v_32 = env.Limit - env.Cursor
lab38:
	for {
		var v_33 = env.Limit - env.Cursor
	lab39:
		for {
			env.Ket = env.Cursor
			if !env.EqSB("ησετε") {
				break lab39
			}
			env.Bra = env.Cursor
			env.SliceDel()
			b_test1 = false
			break lab39
		}
		env.Cursor = env.Limit - v_33
		env.Ket = env.Cursor
		if !env.EqSB("ετε") {
			break lab38
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab40:
		for {
			var v_34 = env.Limit - env.Cursor
		lab41:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if !env.InGroupingB(G_v2, 945, 969) {
					break lab41
				}
				env.SliceFrom("ετ")
				break lab40
			}
			env.Cursor = env.Limit - v_34
		lab42:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if env.FindAmongB(A_40, context) == 0 {
					break lab42
				}
				env.SliceFrom("ετ")
				break lab40
			}
			env.Cursor = env.Limit - v_34
			env.Ket = env.Cursor
			break lab40
		}
		env.Bra = env.Cursor
		if env.FindAmongB(A_41, context) == 0 {
			break lab38
		}
		if env.Cursor > env.LimitBackward {
			break lab38
		}
		env.SliceFrom("ετ")
		break lab38
	}
	env.Cursor = env.Limit - v_32
	var v_35 = env.Limit - env.Cursor
lab43:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_42, context) == 0 {
			break lab43
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab44:
		for {
			var v_36 = env.Limit - env.Cursor
		lab45:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if !env.EqSB("αρχ") {
					break lab45
				}
				if env.Cursor > env.LimitBackward {
					break lab45
				}
				env.SliceFrom("οντ")
				break lab44
			}
			env.Cursor = env.Limit - v_36
			env.Ket = env.Cursor
			env.Bra = env.Cursor
			if !env.EqSB("κρε") {
				break lab43
			}
			env.SliceFrom("ωντ")
			break lab44
		}
		break lab43
	}
	env.Cursor = env.Limit - v_35
	var v_37 = env.Limit - env.Cursor
lab46:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_43, context) == 0 {
			break lab46
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if !env.EqSB("ον") {
			break lab46
		}
		if env.Cursor > env.LimitBackward {
			break lab46
		}
		env.SliceFrom("ομαστ")
		break lab46
	}
	env.Cursor = env.Limit - v_37
	var v_38 = env.Limit - env.Cursor
lab47:
	for {
		var v_39 = env.Limit - env.Cursor
	lab48:
		for {
			env.Ket = env.Cursor
			if !env.EqSB("ιεστε") {
				break lab48
			}
			env.Bra = env.Cursor
			env.SliceDel()
			b_test1 = false
			env.Ket = env.Cursor
			env.Bra = env.Cursor
			if env.FindAmongB(A_44, context) == 0 {
				break lab48
			}
			if env.Cursor > env.LimitBackward {
				break lab48
			}
			env.SliceFrom("ιεστ")
			break lab48
		}
		env.Cursor = env.Limit - v_39
		env.Ket = env.Cursor
		if !env.EqSB("εστε") {
			break lab47
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_45, context) == 0 {
			break lab47
		}
		if env.Cursor > env.LimitBackward {
			break lab47
		}
		env.SliceFrom("ιεστ")
		break lab47
	}
	env.Cursor = env.Limit - v_38
	var v_40 = env.Limit - env.Cursor
lab49:
	for {
		var v_41 = env.Limit - env.Cursor
	lab50:
		for {
			env.Ket = env.Cursor
			if env.FindAmongB(A_46, context) == 0 {
				break lab50
			}
			env.Bra = env.Cursor
			env.SliceDel()
			b_test1 = false
			break lab50
		}
		env.Cursor = env.Limit - v_41
		env.Ket = env.Cursor
		if env.FindAmongB(A_49, context) == 0 {
			break lab49
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab51:
		for {
			var v_42 = env.Limit - env.Cursor
		lab52:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if env.FindAmongB(A_47, context) == 0 {
					break lab52
				}
				env.SliceFrom("ηκ")
				break lab51
			}
			env.Cursor = env.Limit - v_42
			env.Ket = env.Cursor
			env.Bra = env.Cursor
			if env.FindAmongB(A_48, context) == 0 {
				break lab49
			}
			if env.Cursor > env.LimitBackward {
				break lab49
			}
			env.SliceFrom("ηκ")
			break lab51
		}
		break lab49
	}
	env.Cursor = env.Limit - v_40
	var v_43 = env.Limit - env.Cursor
lab53:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_52, context) == 0 {
			break lab53
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab54:
		for {
			var v_44 = env.Limit - env.Cursor
		lab55:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if env.FindAmongB(A_50, context) == 0 {
					break lab55
				}
				env.SliceFrom("ουσ")
				break lab54
			}
			env.Cursor = env.Limit - v_44
			env.Ket = env.Cursor
			env.Bra = env.Cursor
			if env.FindAmongB(A_51, context) == 0 {
				break lab53
			}
			if env.Cursor > env.LimitBackward {
				break lab53
			}
			env.SliceFrom("ουσ")
			break lab54
		}
		break lab53
	}
	env.Cursor = env.Limit - v_43
	var v_45 = env.Limit - env.Cursor
lab56:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_56, context) == 0 {
			break lab56
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_57, context) == 0 {
			break lab56
		}
		if env.Cursor > env.LimitBackward {
			break lab56
		}
		env.SliceFrom("ησ")
		break lab56
	}
	env.Cursor = env.Limit - v_45
	var v_46 = env.Limit - env.Cursor
lab57:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_55, context) == 0 {
			break lab57
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
	lab58:
		for {
			var v_47 = env.Limit - env.Cursor
		lab59:
			for {
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if !env.EqSB("κολλ") {
					break lab59
				}
				env.SliceFrom("αγ")
				break lab58
			}
			env.Cursor = env.Limit - v_47
		lab60:
			for {
				var v_48 = env.Limit - env.Cursor
			lab61:
				for {
					env.Ket = env.Cursor
					env.Bra = env.Cursor
					among_var = env.FindAmongB(A_53, context)
					if among_var == 0 {
						break lab61
					}
					switch among_var {
					case 1:
						env.SliceFrom("αγ")
					}
					break lab60
				}
				env.Cursor = env.Limit - v_48
				env.Ket = env.Cursor
				env.Bra = env.Cursor
				if env.FindAmongB(A_54, context) == 0 {
					break lab57
				}
				if env.Cursor > env.LimitBackward {
					break lab57
				}
				env.SliceFrom("αγ")
				break lab60
			}
			break lab58
		}
		break lab57
	}
	env.Cursor = env.Limit - v_46
	var v_49 = env.Limit - env.Cursor
lab62:
	for {
		env.Ket = env.Cursor
		if !env.EqSB("ηστε") {
			break lab62
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_58, context) == 0 {
			break lab62
		}
		if env.Cursor > env.LimitBackward {
			break lab62
		}
		env.SliceFrom("ηστ")
		break lab62
	}
	env.Cursor = env.Limit - v_49
	var v_50 = env.Limit - env.Cursor
lab63:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_59, context) == 0 {
			break lab63
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_60, context) == 0 {
			break lab63
		}
		if env.Cursor > env.LimitBackward {
			break lab63
		}
		env.SliceFrom("ουν")
		break lab63
	}
	env.Cursor = env.Limit - v_50
	var v_51 = env.Limit - env.Cursor
lab64:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_61, context) == 0 {
			break lab64
		}
		env.Bra = env.Cursor
		env.SliceDel()
		b_test1 = false
		env.Ket = env.Cursor
		env.Bra = env.Cursor
		if env.FindAmongB(A_62, context) == 0 {
			break lab64
		}
		if env.Cursor > env.LimitBackward {
			break lab64
		}
		env.SliceFrom("ουμ")
		break lab64
	}
	env.Cursor = env.Limit - v_51
	var v_52 = env.Limit - env.Cursor
lab65:
	for {
		var v_53 = env.Limit - env.Cursor
	lab66:
		for {
			env.Ket = env.Cursor
			if env.FindAmongB(A_63, context) == 0 {
				break lab66
			}
			env.Bra = env.Cursor
			env.SliceFrom("μα")
			break lab66
		}
		env.Cursor = env.Limit - v_53
		if !b_test1 {
			break lab65
		}
		env.Ket = env.Cursor
		if env.FindAmongB(A_64, context) == 0 {
			break lab65
		}
		env.Bra = env.Cursor
		env.SliceDel()
		break lab65
	}
	env.Cursor = env.Limit - v_52
	var v_54 = env.Limit - env.Cursor
lab67:
	for {
		env.Ket = env.Cursor
		if env.FindAmongB(A_65, context) == 0 {
			break lab67
		}
		env.Bra = env.Cursor
		env.SliceDel()
		break lab67
	}
	env.Cursor = env.Limit - v_54
	env.Cursor = env.LimitBackward
	return true
}
