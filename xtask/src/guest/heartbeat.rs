//! Tells a guest that stands still from a busy one: its first process writes a file every 20 s.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

/// Looks, 20 ms apart or more, between two heartbeats: three minutes at least. Guests that stood
/// still for one minute and went on were seen on busy hosts. Looks are counted instead of time:
/// while the host itself does not run, nobody looks.
const LOOKS: u32 = 9000;

/// The heartbeat of a guest, followed.
#[derive(Debug)]
pub(super) struct Heartbeat {
    file: PathBuf,
    last: Option<SystemTime>,
    looks: u32,
}

impl Heartbeat {
    /// Follows the file of a guest that has booted.
    pub(super) fn of(file: PathBuf) -> Self {
        Self {
            file,
            last: None,
            looks: 0,
        }
    }

    /// Looks once; true if the guest has not written since many looks.
    pub(super) fn has_stopped(&mut self) -> bool {
        let written = fs::metadata(&self.file).and_then(|file| file.modified());
        self.look(written.ok())
    }

    fn look(&mut self, written: Option<SystemTime>) -> bool {
        if written != self.last {
            (self.last, self.looks) = (written, 0);
        }
        self.looks += 1;
        self.looks > LOOKS
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::{Heartbeat, LOOKS};

    #[test]
    fn it_has_stopped_after_many_looks_at_the_same_time_and_not_before() {
        let mut heartbeat = Heartbeat::of("none".into());
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        assert!((0..LOOKS).all(|_| !heartbeat.look(None)));
        assert!((0..LOOKS).all(|_| !heartbeat.look(at(20))));
        assert!((0..LOOKS).all(|_| !heartbeat.look(at(41))));
        assert!(heartbeat.look(at(41)));
        assert!(!heartbeat.look(at(60)));
    }
}
