//! The ring buffer of a perf event: the kernel writes records and moves the head, this process
//! reads them and moves the tail (perf_event_open(2), "MMAP layout").

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::SystemCallError;
use crate::perf_records::{self, HEADER_BYTES, Header, Read, Record};

/// Offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`
/// (include/uapi/linux/perf_event.h).
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

/// One ring buffer, mapped into this process.
#[derive(Debug)]
pub(crate) struct Ring {
    /// The control page; the data follow it.
    control: *mut libc::c_void,
    page_bytes: usize,
    /// Length of the data, a power of two.
    data_bytes: usize,
    /// A record that wraps around, put together.
    whole: Vec<u8>,
}

// SAFETY: the mapping belongs to this value alone, whatever thread has it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the buffer of an event; `data_bytes` is a power of two and at least a page.
    pub(crate) fn map(event: BorrowedFd<'_>, data_bytes: usize) -> Result<Self, SystemCallError> {
        let page_bytes = crate::process::page_bytes() as usize;
        let data_bytes = data_bytes.next_power_of_two().max(page_bytes);
        let bytes = page_bytes + data_bytes;
        // SAFETY: the kernel chooses an unused address; the descriptor is open.
        let control = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if control == libc::MAP_FAILED {
            let arguments = format!("{bytes} bytes of a perf event");
            return Err(SystemCallError::last("mmap", arguments));
        }
        Ok(Ring {
            control,
            page_bytes,
            data_bytes,
            whole: Vec::new(),
        })
    }

    fn counter(&self, at: usize) -> &AtomicU64 {
        // SAFETY: both counters are 8 bytes within the control page, aligned, mapped as long as
        // this value lives, and the kernel reads and writes each at once.
        unsafe { AtomicU64::from_ptr(self.control.wrapping_byte_add(at).cast()) }
    }

    /// Hands all records that are there to `take`, and the room back to the kernel. Returns how
    /// many were malformed.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Record)) -> u64 {
        // Pairs with the kernel's barrier between the data and the head
        // (kernel/events/ring_buffer.c, `perf_output_put_handle`).
        let head = self.counter(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.counter(TAIL_AT).load(Ordering::Relaxed);
        let mut malformed = 0;
        let mut whole = std::mem::take(&mut self.whole);
        while head.wrapping_sub(tail) >= HEADER_BYTES as u64 {
            let available = head.wrapping_sub(tail);
            self.copy(tail, HEADER_BYTES, &mut whole);
            let header = Header::read(&whole);
            let Some(header) = header.filter(|header| header.bytes as u64 <= available) else {
                // Nothing after this can be found.
                malformed += 1;
                tail = head;
                break;
            };
            self.copy(tail, header.bytes, &mut whole);
            match perf_records::read(&header, &whole[HEADER_BYTES..]) {
                Read::Record(record) => take(record),
                Read::Other => {}
                Read::Malformed => malformed += 1,
            }
            tail = tail.wrapping_add(header.bytes as u64);
        }
        self.whole = whole;
        // All reads are done before the kernel may write there again.
        self.counter(TAIL_AT).store(tail, Ordering::Release);
        malformed
    }

    /// Copies `bytes` bytes that begin at `position`, which counts on beyond the end of the data.
    fn copy(&self, position: u64, bytes: usize, into: &mut Vec<u8>) {
        into.clear();
        let start = (position % self.data_bytes as u64) as usize;
        let first = bytes.min(self.data_bytes - start);
        for (from, length) in [(start, first), (0, bytes - first)] {
            let from = self.control.wrapping_byte_add(self.page_bytes + from);
            // SAFETY: the range lies within the data, which stay mapped, and between tail and head
            // the kernel does not write.
            let part = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), length) };
            into.extend_from_slice(part);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it any more.
        unsafe { libc::munmap(self.control, self.page_bytes + self.data_bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_records::Happening;
    use proptest::prelude::*;

    /// A buffer in anonymous memory, with this process in the kernel's place.
    fn ring_of(data_bytes: usize) -> Ring {
        let page_bytes = crate::process::page_bytes() as usize;
        // SAFETY: the kernel chooses an unused address.
        let control = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page_bytes + data_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(control, libc::MAP_FAILED);
        Ring {
            control,
            page_bytes,
            data_bytes,
            whole: Vec::new(),
        }
    }

    /// Writes as the kernel does, from the head on.
    fn write(ring: &Ring, bytes: &[u8]) {
        let head = ring.counter(HEAD_AT).load(Ordering::Relaxed);
        for (index, byte) in bytes.iter().enumerate() {
            let at = (head + index as u64) % ring.data_bytes as u64;
            let to = ring
                .control
                .wrapping_byte_add(ring.page_bytes + at as usize);
            // SAFETY: within the data.
            unsafe { to.cast::<u8>().write(*byte) };
        }
        let head = head.wrapping_add(bytes.len() as u64);
        ring.counter(HEAD_AT).store(head, Ordering::Release);
    }

    fn fault(address: u64) -> Vec<u8> {
        let mut bytes = 9_u32.to_ne_bytes().to_vec();
        bytes.extend(0_u16.to_ne_bytes());
        bytes.extend(40_u16.to_ne_bytes());
        for number in [7, 5, address, 0] {
            bytes.extend(u64::to_ne_bytes(number));
        }
        bytes
    }

    #[test]
    fn records_are_read_in_their_order_around_the_end_of_the_buffer() {
        let mut ring = ring_of(4096);
        let mut expected = 0;
        // 4,096 is no multiple of the 40 bytes of a record, so records wrap in every way.
        for round in 0..100 {
            for address in 0..90 {
                write(&ring, &fault(round * 100 + address));
            }
            let malformed = ring.drain(|record| {
                let address = expected / 90 * 100 + expected % 90;
                let pid = 7;
                assert_eq!(record.happening, Happening::Fault { pid, address });
                expected += 1;
            });
            assert_eq!(malformed, 0);
        }
        assert_eq!(expected, 9000);
    }

    #[test]
    fn a_record_longer_than_what_was_written_ends_the_reading_and_is_counted() {
        let mut ring = ring_of(4096);
        let mut bytes = fault(1);
        bytes[6..8].copy_from_slice(&4000_u16.to_ne_bytes());
        write(&ring, &bytes);
        assert_eq!(ring.drain(|record| panic!("{record:?}")), 1);
        write(&ring, &fault(2));
        let mut seen = 0;
        assert_eq!(ring.drain(|_| seen += 1), 0);
        assert_eq!(seen, 1);
    }

    proptest! {
        #[test]
        fn no_content_panics_or_is_read_twice(
            bytes in prop::collection::vec(any::<u8>(), 0..4096),
        ) {
            let mut ring = ring_of(4096);
            write(&ring, &bytes);
            ring.drain(drop);
            let left = ring.counter(HEAD_AT).load(Ordering::Relaxed)
                - ring.counter(TAIL_AT).load(Ordering::Relaxed);
            prop_assert!(left < HEADER_BYTES as u64);
            let mut again = 0;
            ring.drain(|_| again += 1);
            prop_assert_eq!(again, 0);
        }
    }
}
