//! Stores in a session's slot why it failed, for the instance to read.

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

#[cfg(test)]
mod tests {
    use linux::shared_memory::{ObjectKind, SharedMemory};

    use super::{leave, read};
    use crate::Error;
    use crate::sga::Sga;
    use crate::sga_layout::{Content, SgaLayout, SgaSize};

    #[test]
    fn a_reason_is_read_back_and_a_long_one_is_cut() {
        let size = SgaSize {
            sessions: 1,
            cache_bytes: 1 << 20,
            page_bytes: 4096,
            pools: 1,
            data_bytes: None,
            content: Content::Tables,
            updates: false,
        };
        let layout = SgaLayout::new(&size).unwrap();
        let memory = SharedMemory::create(ObjectKind::Memfd, layout.bytes as usize, 4096).unwrap();
        let mapping = memory.map().unwrap();
        let sga = Sga::create(&mapping, layout);
        assert_eq!(read(&sga.slots[0]), None);
        leave(&sga.slots[0], &Error::Layout("short".to_owned()));
        assert_eq!(read(&sga.slots[0]).unwrap(), "SGA: short");
        leave(&sga.slots[0], &Error::Layout("x".repeat(1000)));
        let cut = read(&sga.slots[0]).unwrap();
        assert_eq!((cut.len(), &cut[..7]), (511, "SGA: xx"));
    }
}
