//! Processes of numalab: dying with the parent, running as another user, becoming another
//! program, and the machine's name.

use std::ffi::{CStr, CString, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use model::counted;
use rustix::process::{Gid, Pid, Signal, Uid};

/// Has the kernel kill this process when the thread that started it ends (prctl(2),
/// `PR_SET_PDEATHSIG`); ends it now if `parent_pid` is already gone.
///
/// # Errors
/// `ESRCH` when the parent is gone.
pub fn die_with_parent(parent_pid: u32) -> io::Result<()> {
    end_with_parent(parent_pid, Signal::KILL)
}

/// The same with `SIGQUIT`, on which a PostgreSQL server shuts down at once, together with its
/// processes and shared memory. The setting survives execve(2), but not a change of user.
///
/// # Errors
/// `ESRCH` when the parent is gone.
pub fn quit_with_parent(parent_pid: u32) -> io::Result<()> {
    end_with_parent(parent_pid, Signal::QUIT)
}

/// The same with `SIGTERM`, for a server of one process, which need not tell others.
///
/// # Errors
/// `ESRCH` when the parent is gone.
pub fn terminate_with_parent(parent_pid: u32) -> io::Result<()> {
    end_with_parent(parent_pid, Signal::TERM)
}

fn end_with_parent(parent_pid: u32, signal: Signal) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    if parent != parent_pid as i32 {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    Ok(())
}

/// Whether a process with this id exists, zombies included.
pub fn exists(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
        return false;
    };
    !matches!(
        rustix::process::test_kill_process(pid),
        Err(rustix::io::Errno::SRCH)
    )
}

/// Lets this process have as many files open as it may ask for (the hard limit), at most 65,536.
pub fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const FILES_MAX: u64 = 1 << 16;
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(FILES_MAX).min(FILES_MAX);
    if limit.current.is_some_and(|current| current < most) {
        let raised = Rlimit {
            current: Some(most),
            maximum: limit.maximum,
        };
        // It works without, and costs more.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// The working directory of process `pid`.
///
/// # Errors
/// When the process is gone or may not be inspected.
pub fn working_directory(pid: u32) -> io::Result<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/cwd"))
}

/// Whether process `pid` works in a directory, by whatever path it knows that, even in a container;
/// `None` when the process is gone or may not be inspected.
pub fn works_in(pid: u32, directory: &std::path::Path) -> Option<bool> {
    let of_it = std::fs::metadata(format!("/proc/{pid}/cwd")).ok()?;
    let wanted = std::fs::metadata(directory).ok()?;
    Some((of_it.dev(), of_it.ino()) == (wanted.dev(), wanted.ino()))
}

/// Runs `work` on a new thread that permanently becomes user `uid` with only the group `gid`. The
/// rest of this process keeps its user: the kernel stores credentials per thread (credentials(7)),
/// and peers of the thread's connections see the thread's.
///
/// # Errors
/// `EPERM` when this process is not root.
pub fn as_user<T: Send>(uid: u32, gid: u32, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let (user, group) = (Uid::from_raw(uid), Gid::from_raw(gid));
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            set_thread_groups(&[group])?;
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
            Ok(work())
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Fails if a signal to this process may reach a thread other than the caller, its only one beside
/// those of [`crate::on_threads`], which have blocked all signals.
///
/// # Errors
/// With the number of other threads; also when /proc cannot be read.
pub(crate) fn require_one_thread() -> io::Result<()> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    match threads.saturating_sub(1 + crate::on_threads::helpers_started()) {
        0 => Ok(()),
        others => {
            let others = counted(others, "other thread");
            let message = format!("this process has {others}, and may have none");
            Err(io::Error::other(message))
        }
    }
}

/// Sets the name of this process in top(1) and pgrep(1), truncated to 15 bytes (`PR_SET_NAME`).
pub fn set_name(name: &CStr) {
    // The call fails only for an unmapped address.
    let _ = rustix::thread::set_name(name);
}

/// `uname -n` and `uname -r`.
pub fn host_and_kernel() -> (String, String) {
    let uname = rustix::system::uname();
    (
        uname.nodename().to_string_lossy().into_owned(),
        uname.release().to_string_lossy().into_owned(),
    )
}

/// Whether the effective user is root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The effective user.
pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Gives this process the lowest weight beside others (nice 19, setpriority(2)), and so what it
/// starts from now on.
///
/// # Errors
/// When the kernel refuses.
pub fn yield_to_others() -> io::Result<()> {
    Ok(rustix::process::setpriority_process(None, 19)?)
}

/// Size of a base page.
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Whether this process ignores `SIGHUP`, as nohup(1) makes the programs do that it starts.
pub fn ignores_hang_up() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: the kernel changes no action, and fills the one that is read.
    let read = unsafe { libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: the call that succeeded has filled it.
    read == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Columns of the terminal behind a stream; `None` when it is not a terminal or has no known size.
pub fn terminal_columns(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Replaces this process by the program `words[0]`, looked up in `PATH` as execvp(3) does it, with
/// `words` as its arguments. Returns only on failure.
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
    use testing::{Need, not_run};

    use super::{as_user, exec, is_root, works_in};

    #[test]
    fn this_process_works_in_its_directory_and_in_no_other() {
        let own = std::env::current_dir().unwrap();
        assert_eq!(works_in(std::process::id(), &own), Some(true));
        assert_eq!(works_in(std::process::id(), "/proc".as_ref()), Some(false));
        assert_eq!(works_in(u32::MAX, &own), None);
    }

    #[test]
    fn a_thread_becomes_another_user_and_the_process_does_not() {
        if !is_root() {
            let test = "a_thread_becomes_another_user_and_the_process_does_not";
            return not_run(test, Need::Root, "only root may become another user");
        }
        let folder = tempfile::tempdir().unwrap();
        let only_ours = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folder.path(), only_ours).unwrap();
        let readable = || std::fs::read_dir(folder.path()).is_ok();
        assert!(readable());
        assert!(!as_user(65534, 65534, readable).unwrap());
        assert!(readable());
        // A thread that is not root cannot become root again.
        let back = as_user(65534, 65534, || as_user(0, 0, || ()).is_err());
        assert!(back.unwrap());
    }

    #[test]
    fn what_cannot_be_executed_says_why() {
        let missing = exec(&["numalab-no-such-program".into()]);
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
        assert_eq!(exec(&["/".into()]).raw_os_error(), Some(libc::EACCES));
        assert_eq!(exec(&[]).raw_os_error(), Some(libc::EINVAL));
        assert_eq!(exec(&["a\0b".into()]).raw_os_error(), Some(libc::EINVAL));
    }
}
