//! Run-queue wait of the calling thread, from `/proc/thread-self/schedstat` (kernel,
//! `Documentation/scheduler/sched-stats.rst`). For the whole process, see `schedstat`.

use crate::{Error, Root, TextFile};

/// Time the calling thread has spent ready but not running, ns; `None` when the kernel was built
/// without `CONFIG_SCHED_INFO`.
///
/// # Errors
/// When the file is malformed.
pub fn run_queue_wait_ns(root: &Root) -> Result<Option<u64>, Error> {
    let file = root.read_optional("proc/thread-self/schedstat")?;
    file.as_ref().map(parse).transpose()
}

/// One real line: `1286043 50041 9`.
fn parse(file: &TextFile) -> Result<u64, Error> {
    let second = file.text().split_ascii_whitespace().nth(1);
    second
        .and_then(|wait| wait.parse().ok())
        .ok_or_else(|| file.malformed(1, "three numbers", file.word()))
}

#[cfg(test)]
mod tests {
    use super::{parse, run_queue_wait_ns};
    use crate::{Root, TextFile};

    #[test]
    fn the_second_number_is_the_wait() {
        let check = |text: &str| parse(&TextFile::new("/f", text));
        assert_eq!(check("1286043 50041 9\n").unwrap(), 50041);
        for text in ["", "1", "1 x 3", "1 -2 3"] {
            assert!(check(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_thread_never_waits_less_than_before() {
        let root = Root::live();
        let before = run_queue_wait_ns(&root).unwrap();
        assert!(run_queue_wait_ns(&root).unwrap() >= before);
    }
}
