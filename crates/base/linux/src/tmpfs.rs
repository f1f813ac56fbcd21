//! Mounted tmpfs file systems and their memory policy (`mpol=`; tmpfs(5); kernel,
//! `Documentation/filesystems/tmpfs.rst`).

use rustix::mount::{FsPickFlags, fsconfig_reconfigure, fsconfig_set_string, fspick};

use crate::{Error, Root, SystemCallError};

/// One mounted tmpfs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tmpfs {
    /// Where it is mounted.
    pub mount_point: String,
    /// The value of `mpol=`, such as `interleave:0-3`; `None` when it has no policy.
    pub policy: Option<String>,
    /// The value of `size=`.
    pub size: Option<String>,
}

/// All mounted tmpfs, in the order in which they were mounted.
///
/// # Errors
/// When /proc/mounts cannot be read.
pub fn mounted(root: &Root) -> Result<Vec<Tmpfs>, Error> {
    // tmpfs /dev/shm tmpfs rw,relatime,size=24684092k,mpol=interleave:0-1 0 0
    let file = root.read_lossy("proc/mounts")?;
    let mounts = file.lines().filter_map(|(_, line)| {
        let mut fields = line.split(' ').skip(1);
        let (mount_point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
        // Other options may follow the policy, whose node list has commas: `mpol=bind:0,2`.
        let policy = options.split_once("mpol=").map(|(_, after)| {
            let is_node = |part: &&str| part.starts_with(|char: char| char.is_ascii_digit());
            let mut parts = after.split(',');
            let mut policy = parts.next().unwrap_or_default().to_owned();
            for part in parts.take_while(is_node) {
                policy.push(',');
                policy.push_str(part);
            }
            policy
        });
        let size = options.split(',').find_map(|it| it.strip_prefix("size="));
        (kind == "tmpfs").then(|| Tmpfs {
            mount_point: unescaped(mount_point),
            policy,
            size: size.map(str::to_owned),
        })
    });
    Ok(mounts.collect())
}

/// Decodes `\040` for a space and similar escapes (proc_pid_mounts(5), fstab(5)).
fn unescaped(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| first == b'\\');
        let code = digits.and_then(|it| u8::from_str_radix(std::str::from_utf8(it).ok()?, 8).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sets the memory policy of a mounted tmpfs, for files created from now on. Changes no other mount
/// option, because it reconfigures the file system instead of mounting it again (fspick(2), Linux
/// 5.2).
///
/// # Errors
/// `EPERM` without `CAP_SYS_ADMIN`, `EINVAL` when the kernel does not accept the policy.
pub fn set_policy(mount_point: &str, policy: &str) -> Result<(), SystemCallError> {
    let arguments = || format!("{mount_point}, mpol={policy}");
    let error =
        |call, cause: rustix::io::Errno| SystemCallError::with(call, arguments(), cause.into());
    let context = fspick(rustix::fs::CWD, mount_point, FsPickFlags::FSPICK_CLOEXEC)
        .map_err(|cause| error("fspick", cause))?;
    fsconfig_set_string(&context, "mpol", policy).map_err(|cause| error("fsconfig", cause))?;
    fsconfig_reconfigure(&context).map_err(|cause| error("fsconfig", cause))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn mounts(text: &str) -> Vec<Tmpfs> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("proc")).unwrap();
        std::fs::write(directory.path().join("proc/mounts"), text).unwrap();
        mounted(&Root::at(directory.path()).unwrap()).unwrap()
    }

    #[test]
    fn policies_with_commas_and_names_with_spaces_are_read() {
        let text = "proc /proc proc rw 0 0\n\
                    tmpfs /dev/shm tmpfs rw,size=1024k,mpol=bind:0,2-3,inode64 0 0\n\
                    t /a\\040b tmpfs rw,mpol=interleave=static:0-1 0 0\ntmpfs /run tmpfs rw 0 0\n";
        let mounts = mounts(text);
        let seen: Vec<_> = mounts
            .iter()
            .map(|it| (it.mount_point.as_str(), it.policy.as_deref()))
            .collect();
        let expected = [
            ("/dev/shm", Some("bind:0,2-3")),
            ("/a b", Some("interleave=static:0-1")),
            ("/run", None),
        ];
        assert_eq!(seen, expected);
        assert_eq!(mounts[0].size.as_deref(), Some("1024k"));
    }

    #[test]
    fn what_is_no_mount_is_refused() {
        let error = set_policy("/nonexistent", "local").unwrap_err();
        assert!(error.to_string().contains("/nonexistent"), "{error}");
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC*", &|text| {
            let _ = mounts(text);
            let _ = unescaped(text);
        });
    }
}
