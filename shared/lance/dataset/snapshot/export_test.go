package snapshot

// WindowsPerProcessor is how many windows in work keep a processor busy.
const WindowsPerProcessor = windowsPerProcessor

// WindowsInWork returns how many windows are in work, of all scans.
func (s *Snapshot) WindowsInWork() int { return int(s.place.windows.Load()) }
