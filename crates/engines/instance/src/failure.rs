//! Why a process of an instance ended: what a session leaves in its slot for the instance to read,
//! and what the exit status tells.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::Ordering;

use crate::Error;
use crate::layout::{FAILURE_WORDS, SessionSlot};

/// Stores the reason, truncated to the room available.
pub(crate) fn leave(slot: &SessionSlot, error: &Error) {
    let text = error.to_string();
    // The last byte stays zero to terminate the text.
    let bytes = &text.as_bytes()[..text.len().min(FAILURE_WORDS * 8 - 1)];
    for (word, chunk) in slot.failure.0.iter().zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..chunk.len()].copy_from_slice(chunk);
        word.store(u64::from_le_bytes(padded), Ordering::Release);
    }
}

/// Returns the stored reason; `None` if there is none.
pub(crate) fn read(slot: &SessionSlot) -> Option<String> {
    let words = slot.failure.0.iter();
    let bytes: Vec<u8> = words
        .flat_map(|word| word.load(Ordering::Acquire).to_le_bytes())
        .take_while(|byte| *byte != 0)
        .collect();
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// Describes how a process ended early, with the likely cause.
pub(crate) fn ended_early(status: ExitStatus) -> String {
    // SIGKILL cannot be caught, so the process leaves no reason.
    let hint = match status.signal() {
        Some(9) => {
            "; unless someone killed it, the kernel's out-of-memory killer did (check \
                    `dmesg`)"
        }
        _ => "",
    };
    format!("ended early: {status}{hint}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::{ended_early, leave, read};
    use crate::Error;
    use crate::sga::Sga;
    use crate::small_sga::{layout, mapped};

    #[test]
    fn a_reason_is_read_back_and_a_long_one_is_cut() {
        let layout = layout(1, 1 << 20);
        let mapping = mapped(layout.bytes);
        let sga = Sga::create(&mapping, layout);
        assert_eq!(read(&sga.slots[0]), None);
        leave(&sga.slots[0], &Error::Layout("short".to_owned()));
        assert_eq!(read(&sga.slots[0]).unwrap(), "SGA: short");
        leave(&sga.slots[0], &Error::Layout("x".repeat(1000)));
        let cut = read(&sga.slots[0]).unwrap();
        assert_eq!((cut.len(), &cut[..7]), (511, "SGA: xx"));
    }

    #[test]
    fn only_a_kill_may_mean_that_memory_ran_out() {
        let killed = ended_early(ExitStatus::from_raw(9));
        assert!(
            killed.contains("signal: 9 (SIGKILL)")
                && killed.contains("kernel's out-of-memory killer did (check `dmesg`)")
        );
        for raw in [11, 1 << 8] {
            let text = ended_early(ExitStatus::from_raw(raw));
            assert!(!text.contains("memory"), "{text}");
        }
    }
}
