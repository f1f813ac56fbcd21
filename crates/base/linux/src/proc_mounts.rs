//! The device that a path of a process is on, by `/proc/PID/mountinfo` (proc(5)). No file system is
//! asked: one whose server has gone would keep whoever asks waiting.

use std::path::{Path, PathBuf};

use crate::{Error, Root};

/// A mount: where it is, and the device that st_dev of its files has.
struct Mount {
    point: PathBuf,
    device: (u32, u32),
}

/// The device (major, minor) that holds this absolute path, as process `pid` sees it; `None` if no
/// mount does.
///
/// # Errors
/// When the process has gone, or may not be inspected.
pub fn device_of(root: &Root, pid: u32, path: &Path) -> Result<Option<(u32, u32)>, Error> {
    let text = root.read_lossy(&format!("proc/{pid}/mountinfo"))?;
    Ok(held_by(text.text(), path))
}

/// The device of the longest mount point above this path; of those that are alike, the last one
/// hides the others.
fn held_by(mountinfo: &str, path: &Path) -> Option<(u32, u32)> {
    let mounts = mountinfo.lines().filter_map(mount);
    let above = mounts.filter(|mount| path.starts_with(&mount.point));
    let nearest = above.max_by_key(|mount| mount.point.components().count());
    nearest.map(|mount| mount.device)
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`: the third field and the fifth.
fn mount(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let point = fields.nth(1)?;
    Some(Mount {
        point: unescaped(point).into(),
        device: (major.parse().ok()?, minor.parse().ok()?),
    })
}

/// Blanks, tabs, ends of lines and backslashes are three octal digits after a backslash.
fn unescaped(field: &str) -> String {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n")];
    let text = escapes.iter().fold(field.to_owned(), |text, (code, char)| {
        text.replace(code, char)
    });
    text.replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_path_is_on_the_nearest_mount_above_it() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      23 22 0:5 / /proc rw - proc proc rw\n\
                      24 22 8:17 / /data rw shared:1 - xfs /dev/sdb1 rw\n\
                      25 24 253:0 / /data/my\\040db rw - xfs /dev/dm-0 rw\n\
                      26 22 259:3 / /data rw - xfs /dev/nvme0n1p3 rw\n";
        let on = |path: &str| held_by(mounts, path.as_ref()).unwrap();
        assert_eq!(on("/var/lib"), (8, 1));
        assert_eq!(on("/data/my db/base"), (253, 0));
        assert_eq!(on("/data/other"), (259, 3));
        assert_eq!(on("/database"), (8, 1));
        assert_eq!(held_by("", "/".as_ref()), None);
    }

    #[test]
    fn the_kernel_says_the_same_of_a_file() {
        // Some file systems on disks give their files another number.
        let path = Path::new("/proc/self");
        let found = device_of(&Root::live(), std::process::id(), path).unwrap();
        let device = std::fs::metadata(path).unwrap().dev();
        let expected = (rustix::fs::major(device), rustix::fs::minor(device));
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[0-9 :/\\\\a-z\n-]{0,60}|\\PC{0,60}", &|text| {
            let _ = held_by(text, "/a".as_ref());
        });
    }
}
