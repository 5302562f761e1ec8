package snapshot

// WindowsPerProcessor is the number of windows in flight that keeps a processor busy.
const WindowsPerProcessor = windowsPerProcessor

// WindowsInWork counts the windows in flight of all scans.
func (s *Snapshot) WindowsInWork() int { return int(s.place.windows.Load()) }
