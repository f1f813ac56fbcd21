//! Replacing this process by another program: execvp(3) as a shell does it.

use std::ffi::{CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;

/// Replaces this process by the program `words[0]` (looked up in `PATH`), with `words` as its
/// arguments. Returns only on failure.
///
/// The Rust runtime ignores `SIGPIPE`, which a program would inherit. The call restores the default
/// action and leaves everything else as inherited.
pub fn exec(words: &[OsString]) -> io::Error {
    let owned: Result<Vec<CString>, _> = words
        .iter()
        .map(|word| CString::new(word.as_bytes()))
        .collect();
    let owned = match owned {
        Ok(owned) if !owned.is_empty() => owned,
        _ => return io::Error::from_raw_os_error(libc::EINVAL),
    };
    let mut pointers: Vec<_> = owned.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: a valid signal and a predefined action.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    // SAFETY: `pointers` holds pointers to live strings that end with a zero byte, and ends with a
    // null pointer; the call changes none of them.
    unsafe { libc::execvp(pointers[0], pointers.as_ptr()) };
    let error = io::Error::last_os_error();
    // SAFETY: as above; the rest of this process must see closed pipes as errors again.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    error
}

#[cfg(test)]
mod tests {
    use super::exec;

    #[test]
    fn what_cannot_be_executed_says_why() {
        let missing = exec(&["numalab-no-such-program".into()]);
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
        assert_eq!(exec(&["/".into()]).raw_os_error(), Some(libc::EACCES));
        assert_eq!(exec(&[]).raw_os_error(), Some(libc::EINVAL));
        assert_eq!(exec(&["a\0b".into()]).raw_os_error(), Some(libc::EINVAL));
    }
}
