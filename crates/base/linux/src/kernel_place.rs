//! The kernel file system on which a path lies, found without following links: whatever is written
//! there is a setting, and only the kernel creates or links files there.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, fstatfs, openat};
use rustix::io::Errno;

/// include/uapi/linux/magic.h.
const CGROUP: u64 = 0x0027_e0eb;
const CGROUP2: u64 = 0x6367_7270;
const SYSFS: u64 = 0x6265_6572;

/// Where a path leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelPlace {
    /// Nowhere.
    Gone,
    /// To a control group, or a file of one.
    ControlGroup,
    /// To sysfs.
    Sysfs,
    /// To another file system, or through a link.
    Elsewhere,
}

/// Where an absolute path leads. Nothing is opened but the path itself (`O_PATH`), so that no
/// device notices and no pipe is waited for.
///
/// # Errors
/// When it may not be seen.
pub fn of(path: &Path) -> io::Result<KernelPlace> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(CWD, path, flags, Mode::empty()) {
        Ok(opened) => File::from(opened),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::NODEV) => return Ok(KernelPlace::Gone),
        Err(cause) => return Err(cause.into()),
    };
    // What the kernel calls it has no link and no `..` in it.
    let real = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))?;
    let system = fstatfs(&opened)?.f_type as u64 & 0xffff_ffff;
    Ok(match system {
        _ if real != path => KernelPlace::Elsewhere,
        CGROUP | CGROUP2 => KernelPlace::ControlGroup,
        SYSFS => KernelPlace::Sysfs,
        _ => KernelPlace::Elsewhere,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_what_is_there_without_a_link_is_of_the_kernel() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("kernel");
        symlink("/sys/kernel", &link).unwrap();
        let check = |path: &str, expected| {
            assert_eq!(of(Path::new(path)).unwrap(), expected, "{path}");
        };
        check("/sys/kernel", KernelPlace::Sysfs);
        check("/sys/devices/system/cpu/online", KernelPlace::Sysfs);
        check("/sys/kernel/", KernelPlace::Sysfs);
        check("/sys/../sys/kernel", KernelPlace::Elsewhere);
        for path in [&link, &link.join("mm"), folder.path()] {
            check(path.to_str().unwrap(), KernelPlace::Elsewhere);
        }
        check("/proc/sys/kernel/hostname", KernelPlace::Elsewhere);
        check("/sys/none", KernelPlace::Gone);
        check("/sys/devices/system/cpu/online/none", KernelPlace::Gone);
        check("/none/of/it", KernelPlace::Gone);
    }
}
